//! Why a run was made: its request, and the differences from the input applied before it.

use cts_core::runs::{AttemptEnding, RunCause, RunKind, RunStatus};
use cts_core::{Digest, EVENTS_KEPT, RunInput, TaskName, input_changes};
use cts_store::{RunFilter, RunRecord, Store, StoreError};

/// Number of older runs of the task that are searched for the last applied run.
const RUNS: u32 = 30;

/// Number of runs of a task that are searched for applies.
const ALL_RUNS: u32 = 100;

/// The cause of a run, a line for each part; empty if it is not known any more.
pub(crate) async fn cause(store: &dyn Store, run: &RunRecord) -> Result<Vec<String>, StoreError> {
    let mut lines = Vec::new();
    match &run.requested_by {
        Some(caller) => lines.push(format!("requested by {caller}")),
        None if run.no_retry => lines.push("requested".to_owned()),
        None => {}
    }
    lines.extend(handed_over(store, run).await?);
    if run.kind != RunKind::Apply {
        return Ok(lines);
    }

    let older = RunFilter {
        task: Some(run.task.clone()),
        after: Some(run.id),
        limit: RUNS,
        ..RunFilter::default()
    };
    let older = store.runs(&older).await?;
    let mut applies = older.iter().filter(|other| other.kind == RunKind::Apply);
    let applied = applies
        .clone()
        .find(|other| other.status == RunStatus::Succeeded);
    let failed =
        applies.find(|other| other.status == RunStatus::Failed && other.input == run.input);
    if let Some(noted) = &run.cause {
        // The first run of a task has no other cause.
        let noted = RunCause {
            takeover: noted.takeover && applied.is_some(),
            // A line of its own names the failed run.
            retry: false,
            ..noted.clone()
        };
        lines.extend(noted.triggers().map(str::to_owned));
        lines.extend(noted.unread_lines());
    }
    match applied {
        Some(applied) if applied.input == run.input => {
            lines.push(format!(
                "the data is that of run {}, which applied it",
                applied.id
            ));
        }
        Some(applied) => {
            let before = input(store, applied.input).await?;
            let after = input(store, run.input).await?;
            if let (Some(before), Some(after)) = (before, after) {
                lines.extend(input_changes(&before, &after));
            }
        }
        None if older.len() < RUNS as usize && has_all_applies(store, &run.task).await? => {
            lines.push("the task was not applied before".to_owned());
        }
        None => {}
    }
    if let Some(failed) = failed {
        lines.push(format!(
            "tries again the data of run {}, which failed",
            failed.id
        ));
    }
    Ok(lines)
}

/// Whether no apply of a task was removed: an existing task keeps its newest results, so with fewer applies it has all.
pub(crate) async fn has_all_applies(
    store: &dyn Store,
    task: &TaskName,
) -> Result<bool, StoreError> {
    let all = RunFilter {
        task: Some(task.clone()),
        limit: ALL_RUNS,
        ..RunFilter::default()
    };
    let all = store.runs(&all).await?;
    let applies = all.iter().filter(|run| run.kind == RunKind::Apply);
    let has_all = applies.count() < EVENTS_KEPT && all.len() < ALL_RUNS as usize;
    Ok(has_all && store.task(task).await?.is_some())
}

/// Names the worker that had the run before its last worker, if they differ.
async fn handed_over(store: &dyn Store, run: &RunRecord) -> Result<Option<String>, StoreError> {
    // An attempt that does not count leaves the number of attempts unchanged.
    if run.status == RunStatus::Queued && run.started_at.is_none() {
        return Ok(None);
    }
    let attempts = store.attempts(run.id).await?;
    let is_queued = run.status == RunStatus::Queued;
    let mut newest_first = attempts.iter().rev().skip(usize::from(!is_queued));
    let before = newest_first.next();
    Ok(before.and_then(|before| {
        let worker = before.worker.name();
        match before.ending {
            AttemptEnding::LeaseLost => {
                Some(format!("taken over from worker {worker}, which was lost"))
            }
            AttemptEnding::Released => {
                Some(format!("taken over from worker {worker}, which stopped"))
            }
            AttemptEnding::CutOff => Some("taken up again after the end of cts".to_owned()),
            _ => None,
        }
    }))
}

/// An input that is still stored and can be read.
pub(crate) async fn input(store: &dyn Store, hash: Digest) -> Result<Option<RunInput>, StoreError> {
    let Some(hashes) = store.input(hash).await? else {
        return Ok(None);
    };
    let contents = store.contents(&hashes).await?;
    let bytes: Option<Vec<&[u8]>> = hashes
        .iter()
        .map(|hash| {
            let content = contents.iter().find(|content| content.hash == *hash)?;
            Some(content.bytes.as_slice())
        })
        .collect();
    Ok(bytes.and_then(|bytes| RunInput::thaw(bytes).ok()))
}

/// The reasons for a run; none without a run.
pub(super) async fn cause_of(
    store: &dyn Store,
    run: Option<&RunRecord>,
) -> Result<Vec<String>, StoreError> {
    match run {
        Some(run) => cause(store, run).await,
        None => Ok(Vec::new()),
    }
}
