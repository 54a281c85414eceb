//! The compatibility check (docs/compatibility.md#high-availability): at the start and every five minutes,
//! on every replica.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::{Store, StoreError, StoredTask, WorkerState};
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
        let (tasks, workers, is_due) = match read(&*store).await {
            Ok(state) => state,
            Err(error) => {
                cts_store::log_store_failure!(warn, &error, target: "ha.compat", error = %Chain(&error), "compatibility cannot be checked");
                continue;
            }
        };
        report_missing_modules(&tasks);
        if !first {
            report_workers(&tasks, &workers);
            // The leader warns of runs that wait.
            if !is_due && !tasks.is_empty() && living(&workers).next().is_none() {
                tracing::warn!(target: "ha.compat", "there is no worker; the next runs will wait for one");
            }
        }
        first = false;
    }
}

/// The tasks, the workers, and whether a run is due.
async fn read(store: &dyn Store) -> Result<(Vec<StoredTask>, Vec<WorkerState>, bool), StoreError> {
    let tasks = store.tasks().await?;
    let workers = store.workers(FORGOTTEN_AFTER).await?;
    let due = store.waiting_runs(Duration::ZERO).await?;
    Ok((tasks, workers, !due.is_empty()))
}

/// The workers that take new runs.
fn living(workers: &[WorkerState]) -> impl Iterator<Item = &WorkerState> {
    let living = |worker: &&WorkerState| !is_lost(worker) && !worker.worker.draining;
    workers.iter().filter(living)
}

/// The line that runbooks look for, with the text of the error as in the original.
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
    let living: Vec<_> = living(workers).collect();
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
}
