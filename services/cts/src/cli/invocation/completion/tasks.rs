//! Names of tasks, from the cts that the environment names.

use std::time::Duration;

use cts_api_client::{ApiClient, ClientOptions, ClientSettings};

use crate::process_env::ProcessEnv;

/// A completion must not take longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which tasks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// All.
    Any,
    /// Tasks that can be disabled.
    Enabled,
    /// Tasks that can be enabled.
    Disabled,
}

/// Their names; nothing if they are not to be had, for a message would stand in the middle of a line.
pub(super) async fn names(state: State, process_env: &ProcessEnv) -> Vec<String> {
    let environment = process_env.text_environment();
    let (settings, _warnings) = ClientSettings::resolve(&ClientOptions::default(), &environment);
    let Ok(client) = ApiClient::new(&settings) else {
        return Vec::new();
    };
    let Ok(Ok(tasks)) = tokio::time::timeout(PATIENCE, client.tasks()).await else {
        return Vec::new();
    };
    tasks
        .into_iter()
        .filter(|task| match state {
            State::Any => true,
            State::Enabled => task.enabled,
            State::Disabled => !task.enabled,
        })
        .map(|task| task.name)
        .collect()
}
