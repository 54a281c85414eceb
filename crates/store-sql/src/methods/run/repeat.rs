//! Queues a run with the input of an earlier run.

use cts_core::RunId;
use cts_core::runs::{RunCause, RunKind};
use cts_store::enqueue::stored_cause;
use cts_store::{StoreError, stored_kind};

use crate::{Connection, sql};

/// The new run.
pub(crate) struct Repeat {
    pub(crate) id: RunId,
    pub(crate) kind: RunKind,
    /// When the run is due, in microseconds since 1970; `None` for now.
    pub(crate) due_at: Option<i64>,
    pub(crate) cause: Option<RunCause>,
}

/// Queues the run; `false` without the earlier run.
///
/// The run gets the settings that its worker must have now. Only a destruction keeps those of the earlier run until the
/// leader assigns their successor; its caller is that of the deletion. A plan of a destruction is a requested run.
pub(crate) async fn queue(
    c: &mut dyn Connection,
    earlier: RunId,
    new: Repeat,
) -> Result<bool, StoreError> {
    let (kind, destroys) = stored_kind(new.kind);
    let queued = sql(
        "queue a run",
        "-- complete, delete_task, plan_destruction: the run
        INSERT INTO runs (id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash,
                          status, due_at, created_at, updated_at, settings, requested_by, cause, braked)
        SELECT $2, r.task_name, r.incarnation, $3, $4, $5, $5, r.input_hash, 'queued', coalesce($7, {now}),
               {now}, {now},
               CASE WHEN $6 THEN r.settings ELSE coalesce(
                   (SELECT s.successor FROM settings_successors s WHERE s.number = r.settings), r.settings) END,
               CASE WHEN $6 THEN
                   (SELECT t.destroy_requested_by FROM tasks t WHERE t.name = r.task_name) END,
               $8, r.braked AND $3 = 'apply'
        FROM runs r WHERE r.id = $1",
    );
    let queued = queued.bind(earlier).bind(new.id).bind(kind).bind(destroys);
    let queued = queued.bind(new.kind == RunKind::DestroyPlan);
    let queued = queued.bind(new.kind == RunKind::Destroy);
    let queued = queued
        .bind(new.due_at)
        .bind(stored_cause(new.cause.as_ref())?);
    Ok(queued.execute(c).await? == 1)
}
