//! Names of tasks and ids of runs for completion, from the cts that the environment names.

use std::time::Duration;

use cts_api_client::{ApiClient, CallError, ClientOptions, ClientSettings, RunQuery};
use cts_runtime::ProcessEnv;
use tokio::runtime::Runtime;

/// A completion must not take longer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The wanted tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
    Any,
    /// Tasks that can be disabled.
    Enabled,
    /// Tasks that can be enabled.
    Disabled,
}

/// The names of tasks; none if the API does not answer, because a message would stand in the middle of a
/// line.
pub(crate) fn task_names(state: TaskState, process_env: &ProcessEnv) -> Vec<String> {
    let tasks = answer(process_env, async |client| client.tasks().await);
    tasks
        .unwrap_or_default()
        .into_iter()
        .filter(|task| match state {
            TaskState::Any => true,
            TaskState::Enabled => task.enabled,
            TaskState::Disabled => !task.enabled,
        })
        .map(|task| task.name)
        .collect()
}

/// The ids of the newest runs with their tasks; none if the API does not answer.
pub(crate) fn run_ids(process_env: &ProcessEnv) -> Vec<(String, String)> {
    let query = RunQuery::default();
    let page = answer(process_env, async |client| client.runs(&query).await);
    let runs = page.map(|page| page.runs).unwrap_or_default().into_iter();
    runs.map(|run| (run.id.clone(), run.task_name.clone()))
        .collect()
}

/// The answer to a call of the API that the environment names.
fn answer<T>(
    process_env: &ProcessEnv,
    call: impl AsyncFnOnce(ApiClient) -> Result<T, CallError>,
) -> Option<T> {
    let environment = process_env.text_environment();
    let (settings, _warnings) = ClientSettings::resolve(&ClientOptions::default(), &environment);
    let client = ApiClient::new(&settings).ok()?;
    let runtime = Runtime::new().ok()?;
    let answer = runtime.block_on(async { tokio::time::timeout(TIMEOUT, call(client)).await });
    answer.ok()?.ok()
}
