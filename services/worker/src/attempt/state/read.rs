//! Reads the state in a backend: without a process if that is exact, by Terraform otherwise.

use cts_consul::{ConsulClient, ConsulError};
use cts_core::{Backend, Chain};
use cts_terraform::{
    Attempt, CommandError, FoundState, ReadState, consul_key, consul_parts, read_consul_value,
    read_directly,
};

use crate::attempt::local_run::LocalRun;
use crate::leased_run::LeasedRun;

/// The state at the task's place; `is_applied` if a command has named the workspace before.
pub(super) async fn read(
    here: LocalRun<'_>,
    backend: &Backend,
    is_applied: bool,
) -> Result<Option<FoundState>, CommandError> {
    let LocalRun {
        terraform, attempt, ..
    } = here;
    if let Some(ReadState(found)) = without_process(here, backend).await {
        return Ok(found);
    }
    if is_applied {
        terraform.pull_applied_state(attempt).await
    } else {
        terraform.pull_state(attempt).await
    }
}

/// The state at the task's place, if that is a file or the Consul of this worker; `None` if Terraform has to read it.
pub(super) async fn without_process(here: LocalRun<'_>, backend: &Backend) -> Option<ReadState> {
    let LocalRun { run, attempt, .. } = here;
    if let Some(read) = read_directly(attempt, backend) {
        return Some(read);
    }
    let key = own_key(run, attempt, backend)?;
    match state_in_consul(&run.shared.values.consul, &key).await {
        Ok(read) => read,
        Err(error) => {
            tracing::debug!(task_name = %attempt.task, error = %Chain(&error), "the state is not read from Consul directly");
            None
        }
    }
}

/// The key of the state in the Consul of this worker, if the backend is exactly that Consul.
fn own_key(run: &LeasedRun, attempt: &Attempt, backend: &Backend) -> Option<String> {
    let options = &run.shared.options;
    if !options.states_in_own_consul {
        return None;
    }
    // A variable of the environment, such as one of a `task_env`, may name a different Consul.
    let mut variables = attempt.environment.variables();
    let is_ours = variables.all(|(name, value)| {
        let mut ours = options.consul_environment.iter();
        !name.as_encoded_bytes().starts_with(b"CONSUL_")
            || ours.any(|(known, text)| name == known.as_str() && value == text.as_str())
    });
    consul_key(&attempt.task, backend).filter(|_key| is_ours)
}

/// The state under a key of Consul, as agreed by its servers; `None` if Terraform has to read the state.
pub async fn state_in_consul(
    consul: &ConsulClient,
    key: &str,
) -> Result<Option<ReadState>, ConsulError> {
    let Some(value) = consul.raw_value(key).await? else {
        return Ok(Some(ReadState(None)));
    };
    let Some(parts) = consul_parts(&value) else {
        return Ok(read_consul_value(&value).map(|found| ReadState(Some(found))));
    };
    let mut together = Vec::new();
    for part in &parts {
        let Some(value) = consul.raw_value(part).await? else {
            return Ok(None);
        };
        together.extend(value);
    }
    Ok(read_consul_value(&together).map(|found| ReadState(Some(found))))
}
