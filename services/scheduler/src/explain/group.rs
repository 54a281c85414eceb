//! Concurrency groups in explanations.

use chrono::SecondsFormat;
use cts_core::callers::TaskPatterns;
use cts_store::RunRecord;

/// Why a concurrency group is taken. A task that is not `visible` is neither named nor described.
pub(super) fn taken_group(group: &str, holder: &RunRecord, visible: &TaskPatterns) -> String {
    let task = &holder.task;
    if !visible.matches(task.as_str()) {
        return format!(
            "another task has its concurrency group {group:?}, and of a group one applies at a time"
        );
    }
    let remote = holder.remote_run.as_ref();
    match remote.filter(|_| has_open_remote(holder)) {
        Some(remote) => {
            let since = holder.started_at.unwrap_or(holder.created_at);
            format!(
                "task {task} has had its concurrency group {group:?} since {}, because its remote run can still apply: {}; \
                 the group is free when that run has ended, also after `cts runs cancel {}`",
                since.to_rfc3339_opts(SecondsFormat::Secs, true),
                remote.state_text(),
                holder.id
            )
        }
        None => format!(
            "task {task} of its concurrency group {group:?} is applying, and of a group one does at a time"
        ),
    }
}

pub(super) fn has_open_remote(run: &RunRecord) -> bool {
    run.remote_run.as_ref().is_some_and(|remote| !remote.ended)
}
