//! A Consul that refuses the key of a task's state (docs/terraform.md#state).

use std::time::Duration;

use cts_consul::{refused_key, refuses_key};
use cts_terraform::{CommandError, CommandFailure, Step};
use tokio::time::timeout;

use crate::outcome::attempt_error::AttemptError;
use crate::shared::Shared;

/// Longest time for the question about the version.
const VERSION: Duration = Duration::from_secs(5);

/// The error with the version of Consul and the remedy, if Consul has refused the key of the state.
pub(super) async fn explain(shared: &Shared, error: AttemptError) -> AttemptError {
    let options = &shared.options;
    match error {
        AttemptError::Terraform(error)
            if options.render.backend.kind == "consul" && is_about_state(&error) =>
        {
            let version = if options.states_in_own_consul {
                let agent = timeout(VERSION, shared.values.consul.agent()).await;
                agent.ok().and_then(Result::ok).map(|agent| agent.version)
            } else {
                None
            };
            let refused = refused_key(version.as_deref());
            AttemptError::RefusedKey { error, refused }
        }
        error => error,
    }
}

/// Whether Consul has refused a key of the backend. A resource of the module may have a key of its own.
fn is_about_state(error: &CommandError) -> bool {
    let CommandFailure::Exit { stderr, .. } = &error.failure else {
        return false;
    };
    let of_backend = error.step == Step::Init || stderr.contains("state lock");
    of_backend && refuses_key(stderr)
}
