//! Reads the state in a backend: without a process if that is exact, by Terraform otherwise.

use cts_core::{Backend, Chain};
use cts_terraform::{
    Attempt, CommandError, FoundState, ReadState, consul_key, read_consul_value, read_directly,
};

use crate::attempt::local::LocalRun;
use crate::lease::leased_run::LeasedRun;

/// The state at the task's place; `is_applied` if a command has named the workspace before.
pub(super) async fn read(
    here: LocalRun<'_>,
    backend: &Backend,
    is_applied: bool,
) -> Result<Option<FoundState>, CommandError> {
    let LocalRun {
        run,
        terraform,
        attempt,
    } = here;
    if let Some(ReadState(found)) = read_directly(attempt, backend) {
        return Ok(found);
    }
    if let Some(ReadState(found)) = in_own_consul(run, attempt, backend).await {
        return Ok(found);
    }
    if is_applied {
        terraform.pull_applied_state(attempt).await
    } else {
        terraform.pull_state(attempt).await
    }
}

/// The state in the Consul of this worker, if the backend is exactly that one; `None` if Terraform has to
/// read it.
async fn in_own_consul(run: &LeasedRun, attempt: &Attempt, backend: &Backend) -> Option<ReadState> {
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
    let key = consul_key(attempt, backend).filter(|_key| is_ours)?;
    match run.shared.values.consul.raw_value(&key).await {
        Ok(None) => Some(ReadState(None)),
        Ok(Some(value)) => read_consul_value(&value).map(|found| ReadState(Some(found))),
        Err(error) => {
            tracing::debug!(task_name = %attempt.task, error = %Chain(&error), "the state is not read from Consul directly");
            None
        }
    }
}
