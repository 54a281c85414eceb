//! Names of tasks for completion, from the cts that the environment names.

use std::time::Duration;

use cts_api_client::{ApiClient, ClientOptions, ClientSettings};
use cts_runtime::ProcessEnv;
use tokio::runtime::Runtime;

/// A completion must not take longer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Which tasks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
    /// All.
    Any,
    /// Tasks that can be disabled.
    Enabled,
    /// Tasks that can be enabled.
    Disabled,
}

/// The names of tasks; none if the API does not answer, because a message would stand in the middle of a
/// line.
pub(crate) fn task_names(state: TaskState, process_env: &ProcessEnv) -> Vec<String> {
    let environment = process_env.text_environment();
    let (settings, _warnings) = ClientSettings::resolve(&ClientOptions::default(), &environment);
    let Ok(client) = ApiClient::new(&settings) else {
        return Vec::new();
    };
    let Ok(runtime) = Runtime::new() else {
        return Vec::new();
    };
    let answer = runtime.block_on(async { tokio::time::timeout(TIMEOUT, client.tasks()).await });
    let Ok(Ok(tasks)) = answer else {
        return Vec::new();
    };
    tasks
        .into_iter()
        .filter(|task| match state {
            TaskState::Any => true,
            TaskState::Enabled => task.enabled,
            TaskState::Disabled => !task.enabled,
        })
        .map(|task| task.name)
        .collect()
}
