//! The compatibility check (docs/compatibility.md#high-availability): at the start and every five minutes,
//! on every replica.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::{Store, StoredTask, WorkerState};
use tokio::time::sleep;

use crate::liveness::{FORGOTTEN_AFTER, LOST, is_lost};
use crate::tasks::modules;

/// Time between two checks.
const EVERY: Duration = Duration::from_mins(5);

/// Checks for ever.
pub(crate) async fn check(store: Arc<dyn Store>) {
    // Workers may be starting as well, so the first check cannot judge their number. The second check comes
    // when each live worker has registered.
    let mut first = true;
    let mut pause = Duration::ZERO;
    loop {
        sleep(pause).await;
        pause = if first { LOST } else { EVERY };
        let (tasks, workers) = match (store.tasks().await, store.workers(FORGOTTEN_AFTER).await) {
            (Ok(tasks), Ok(workers)) => (tasks, workers),
            (Err(error), _) | (_, Err(error)) => {
                cts_store::log_store_failure!(warn, &error, target: "ha.compat", error = %Chain(&error), "compatibility cannot be checked");
                continue;
            }
        };
        report_missing_modules(&tasks);
        if !first {
            report_workers(&tasks, &workers);
        }
        first = false;
    }
}

/// The line that runbooks look for, with the error's text as the original words it.
fn report_missing_modules(tasks: &[StoredTask]) {
    for (path, error) in modules::missing(tasks) {
        let reason = match error.kind() {
            ErrorKind::NotFound => "no such file or directory".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        let path = path.display();
        let error = format!("compatibility check failure: stat {path}: {reason}");
        tracing::error!(target: "ha.compat", error, "error running compatibility check");
    }
}

fn report_workers(tasks: &[StoredTask], workers: &[WorkerState]) {
    let living: Vec<_> = workers
        .iter()
        .filter(|worker| !is_lost(worker) && !worker.worker.draining)
        .collect();
    for task in tasks.iter().filter(|task| task.spec.enabled) {
        let name = task.spec.name();
        let mut lacks = living.iter().filter_map(|worker| {
            let capabilities = &worker.worker.capabilities;
            capabilities.can_run(&task.spec.requirement).err()
        });
        let Some(first) = lacks.next() else {
            continue;
        };
        let unable = 1 + lacks.count();
        if unable == living.len() {
            let error = format!("compatibility check failure: no worker can run the task: {first}");
            tracing::error!(target: "ha.compat", task_name = %name, error, "error running compatibility check");
        } else {
            tracing::warn!(target: "ha.compat", task_name = %name, workers = unable, reason = %first, "some workers cannot run the task");
        }
    }
    if living.is_empty() && !tasks.is_empty() {
        tracing::warn!(target: "ha.compat", "there is no worker; tasks wait");
    }
}
