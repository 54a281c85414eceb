//! Handlers after the successful apply of a run (docs/runs.md#handlers).

use std::collections::{BTreeMap, BTreeSet};

use cts_core::{ProviderBlock, RunInput, TaskDefinition};
use cts_handlers::{AppliedRun, HandlerChain, HandlerRequest};
use tokio::task::spawn_blocking;

use crate::lease::Lease;
use crate::outcome::attempt_error::AttemptError;
use crate::shared::Shared;
use crate::values::Resolved;

/// Prefix of the variables for the provider `panos`.
const PANOS_VARIABLES: &str = "PANOS_";

/// The handlers of a task, before Terraform begins: a missing setting is reported before anything is changed,
/// and their secrets are known before anything is shown.
pub(crate) async fn prepare_handlers(
    shared: &Shared,
    definition: &TaskDefinition,
    resolved: &Resolved,
    task_env: &[(String, String)],
) -> Result<HandlerChain, AttemptError> {
    let blocks = &resolved.settings.providers;
    let ids = definition.providers.iter();
    let providers = ids.map(|id| (id.clone(), ProviderBlock::select(blocks, id).cloned()));
    let request = HandlerRequest {
        task: definition.name.clone(),
        providers: providers.collect(),
        names: definition.file_definition.webhooks.clone(),
        webhooks: resolved.webhooks.clone(),
        environment: environment(shared, task_env),
    };
    let handlers = shared.handlers.clone();
    let preparing = spawn_blocking(move || handlers.prepare(&request));
    Ok(preparing.await.map_err(AttemptError::Preparing)??)
}

/// The variables for handlers, as the provider of the task has them in its process.
fn environment(shared: &Shared, task_env: &[(String, String)]) -> BTreeMap<String, String> {
    let inherited = shared.options.environment.variables().iter();
    let inherited = inherited.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let own = task_env.iter();
    let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
    let all = inherited.chain(own);
    let all = all.filter(|(name, _value)| name.starts_with(PANOS_VARIABLES));
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The data about a run that handlers get.
pub(crate) fn applied_run(shared: &Shared, lease: &Lease, input: &RunInput) -> AppliedRun {
    let instances = input.services.iter();
    let names: BTreeSet<&str> = instances.map(|instance| instance.name.as_str()).collect();
    AppliedRun {
        task: input.definition.name.to_string(),
        run: lease.run.to_string(),
        key: lease.delivery.map_or_else(
            || lease.run.to_string(),
            |delivery| delivery.key(&lease.input.hash),
        ),
        attempt: lease.attempt,
        input: lease.input.hash.clone(),
        services: names.into_iter().map(str::to_owned).collect(),
        at: shared.handlers.now(),
    }
}
