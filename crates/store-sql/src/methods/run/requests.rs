//! Requested runs that are not queued yet. Writers have locked the task.

use cts_core::runs::{Accompanied, Occasion, RunKind};
use cts_core::{RequestKey, RunId, TaskName};
use cts_store::cell::encoded;
use cts_store::fields::{Columns, Fields};
use cts_store::{Refused, RunRequest, StoreError, TaskError, decode};

use crate::{Connection, flag, sql};

/// Requests a run with this id and kind, which may accompany a change.
pub async fn insert(
    c: &mut dyn Connection,
    task: &TaskName,
    (run, kind): (RunId, RunKind),
    accompanies: Option<&Accompanied>,
) -> Result<(), StoreError> {
    let operation = "request a run";
    let request = sql(
        operation,
        "-- a run is requested
        INSERT INTO run_requests (run_id, task_name, kind, requested_at, accompanies)
        VALUES ($1, $2, $3, {now}, $4)",
    );
    let accompanies = accompanies.map(|it| encoded(operation, it)).transpose()?;
    request
        .bind(run)
        .bind(task)
        .bind(kind.as_str())
        .bind(accompanies)
        .execute(c)
        .await?;
    Ok(())
}

/// Notes that the task owes a run for this occasion: its next input is applied even if it is already applied.
pub(crate) async fn owe(
    c: &mut dyn Connection,
    task: &TaskName,
    occasion: Occasion,
) -> Result<(), StoreError> {
    let owed = sql(
        "request a run",
        "-- change_task, decide_terraform_state: the task owes a run
        UPDATE tasks SET owes_run = $2 WHERE name = $1",
    );
    owed.bind(task).bind(occasion.as_str()).execute(c).await?;
    Ok(())
}

/// Whether a run with this id was already requested or queued.
pub async fn is_known(c: &mut dyn Connection, run: RunId) -> Result<bool, StoreError> {
    let known = sql(
        "read a request",
        "-- change_task: whether it was made before
        SELECT EXISTS (SELECT 1 FROM run_requests WHERE run_id = $1)
            OR EXISTS (SELECT 1 FROM runs WHERE id = $1) AS value",
    );
    known.bind(run).one(c, flag).await
}

/// The newest runs of a task among which that of a key is looked for.
const NEWEST: i64 = 256;

/// The run of the task whose request has this key.
pub async fn with_key(
    c: &mut dyn Connection,
    task: &TaskName,
    key: RequestKey,
) -> Result<Option<(RunId, RunKind)>, StoreError> {
    let operation = "read a request";
    let requested = sql(
        operation,
        "-- requested: what is not queued; index run_requests_task
        SELECT run_id AS id, kind, CAST(NULL AS TEXT) AS destroys FROM run_requests WHERE task_name = $1",
    );
    let newest = sql(
        operation,
        "-- requested: the newest runs; index runs_task
        SELECT id, kind, destroys FROM runs WHERE task_name = $1 ORDER BY id DESC LIMIT $2",
    );
    let mut runs = requested.bind(task).all(c, id_and_kind).await?;
    runs.extend(newest.bind(task).bind(NEWEST).all(c, id_and_kind).await?);
    Ok(runs.into_iter().find(|(id, _)| id.has_key(key, task)))
}

fn id_and_kind(row: &dyn Columns) -> Result<(RunId, RunKind), StoreError> {
    let row = Fields::new(row, "read a request", "runs").keyed_by_id("id")?;
    Ok((row.id("id")?, row.kind_of_run()?))
}

/// Refuses a request whose key the task knows.
pub async fn refuse_known(
    c: &mut dyn Connection,
    task: &TaskName,
    key: Option<RequestKey>,
) -> Result<(), TaskError> {
    match key {
        Some(key) if with_key(c, task, key).await?.is_some() => Err(TaskError::Requested),
        _ => Ok(()),
    }
}

/// Refuses a request if it is open, and discards the task that the request was to create.
pub async fn refuse(c: &mut dyn Connection, run: RunId, why: &Refused) -> Result<(), StoreError> {
    sql(
        "refuse a request",
        "-- refuse: the task
        SELECT 1 FROM tasks
        WHERE name = (SELECT task_name FROM run_requests WHERE run_id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(run)
    .on_postgres(c)
    .await?;
    refuse_locked(c, run, why).await
}

/// Refuses a request whose task is locked.
pub async fn refuse_locked(
    c: &mut dyn Connection,
    run: RunId,
    why: &Refused,
) -> Result<(), StoreError> {
    let refused = sql(
        "refuse a request",
        "-- refuse
        UPDATE run_requests SET refused = $2, refused_code = $3, refused_at = {now}
        WHERE run_id = $1 AND refused IS NULL",
    )
    .bind(run)
    .bind(&why.reason)
    .bind(why.code.as_str())
    .execute(c)
    .await?;
    if refused > 0 {
        let discarded = sql(
            "refuse a request",
            "-- refuse: the draft
            UPDATE tasks SET phase = 'discarded', updated_at = {now}
            WHERE phase = 'creating' AND creation_run = $1
              AND name = (SELECT task_name FROM run_requests WHERE run_id = $1)",
        );
        discarded.bind(run).execute(c).await?;
    }
    Ok(())
}

/// Refuses the open requests of these tasks, or only those of one kind.
pub(crate) async fn refuse_all(
    c: &mut dyn Connection,
    tasks: &[&str],
    kind: Option<RunKind>,
    reason: &str,
) -> Result<(), StoreError> {
    let refused = sql(
        "refuse requests",
        "-- change_task, replace_config_tasks, delete_task: what is requested; index run_requests_task
        UPDATE run_requests SET refused = $2, refused_code = 'withdrawn', refused_at = {now}
        WHERE task_name {in $1} AND refused IS NULL AND ($3 IS NULL OR kind = $3)",
    );
    let refused = refused.bind(tasks).bind(reason);
    refused.bind(kind.map(RunKind::as_str)).execute(c).await?;
    Ok(())
}

/// The open requests, oldest first.
pub async fn open(c: &mut dyn Connection) -> Result<Vec<RunRequest>, StoreError> {
    sql(
        "read the requests",
        "-- requests
        SELECT run_id, task_name, kind, requested_at, requested_by, refused, refused_code FROM run_requests
        WHERE refused IS NULL ORDER BY requested_at, run_id",
    )
    .all(c, decode::run_request)
    .await
}

/// One request, open or refused.
pub async fn one(c: &mut dyn Connection, run: RunId) -> Result<Option<RunRequest>, StoreError> {
    sql(
        "read a request",
        "-- request
        SELECT run_id, task_name, kind, requested_at, requested_by, refused, refused_code FROM run_requests WHERE run_id = $1",
    )
    .bind(run)
    .optional(c, decode::run_request)
    .await
}
