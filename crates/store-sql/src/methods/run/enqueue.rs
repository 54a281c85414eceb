//! Enqueueing frozen inputs as runs, many at a time.

mod changes;

use std::collections::{BTreeSet, HashMap};

use cts_core::LeaderEpoch;
use cts_store::enqueue::{EnqueueContext, EnqueueError};
use cts_store::fields::{Columns, Fields};
use cts_store::{EncodedContents, EnqueueRequest, Enqueued, StoreError};
use serde_json::{Value, json};

use self::changes::Changes;
use crate::destruction::INPUTS_LOCK;
use crate::leadership::fence;
use crate::{Connection, shrink_limits, sql};

const OPERATION: &str = "queue runs";

/// Enqueues in one transaction. The contents that `encoded` lacks must be stored.
pub(crate) async fn all(
    c: &mut dyn Connection,
    leader: LeaderEpoch,
    requests: &[EnqueueRequest],
    encoded: &EncodedContents,
) -> Result<Vec<Enqueued>, EnqueueError> {
    let now = fence(c, leader).await?;
    lock(c, requests).await?;
    let mut answers: Vec<Option<Enqueued>> = requests.iter().map(|_| None).collect();
    for wave in waves(requests) {
        let guarded = wave.iter().map(|&place| &requests[place]);
        let guarded = guarded.filter(|request| request.guarded.is_some());
        let guarded: Vec<&str> = guarded.map(|request| request.task.as_str()).collect();
        shrink_limits::count_known(c, &guarded).await?;
        let contexts = contexts(c, requests, &wave).await?;
        let mut changes = Changes::default();
        for place in wave {
            let request = &requests[place];
            let context = contexts.get(request.task.as_str());
            let plan = EnqueueContext::decide(context, request, now);
            changes.add(request, &plan, now)?;
            answers[place] = Some(plan.answer);
        }
        changes.write(c, encoded, now).await?;
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Splits requests into waves, as indexes into `requests`: a request is decided when all earlier requests of its task
/// are stored, so each task occurs at most once in a wave.
fn waves(requests: &[EnqueueRequest]) -> Vec<Vec<usize>> {
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut earlier: HashMap<&str, usize> = HashMap::new();
    for (place, request) in requests.iter().enumerate() {
        let number = earlier.entry(request.task.as_str()).or_default();
        match waves.get_mut(*number) {
            Some(wave) => wave.push(place),
            None => waves.push(vec![place]),
        }
        *number += 1;
    }
    waves
}

async fn lock(c: &mut dyn Connection, requests: &[EnqueueRequest]) -> Result<(), StoreError> {
    let inputs = sql(
        OPERATION,
        "-- enqueue: inputs that are referred to stay\nSELECT pg_advisory_xact_lock_shared($1)",
    );
    inputs.bind(INPUTS_LOCK).on_postgres(c).await?;
    let names: BTreeSet<&str> = requests.iter().map(|r| r.task.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let tasks = sql(
        OPERATION,
        "-- enqueue: the tasks, in order
        SELECT FROM tasks WHERE name {in $1} ORDER BY name FOR NO KEY UPDATE",
    );
    tasks.bind(&*names).on_postgres(c).await
}

/// A macro, so that the statement stays one constant text.
macro_rules! context {
    ($open:literal) => {
        concat!(
            "-- enqueue: what is known; indexes runs_one_queued, runs_one_running, runs_input, runs_results
        SELECT t.name, t.failures > 0 AS has_failed, t.skip_unchanged, t.last_applied,
               t.tried_input, t.cancelled_input, q.id AS queued_id,
               CASE WHEN t.owes_run IS NOT NULL AND NOT EXISTS (
                   SELECT 1 FROM run_requests o
                   WHERE o.task_name = t.name AND o.kind = 'apply' AND o.refused IS NULL)
                 THEN t.owes_run END AS owes_run,
               q.input_hash AS queued_input, q.no_retry AS queued_no_retry, q.braked AS queued_braked,
               q.due_at AS queued_due, q.trace AS queued_trace, q.cause AS queued_cause,
               CASE WHEN q.id IS NOT NULL OR r.id IS NOT NULL THEN NULL
                    WHEN t.cancelled_input IS NOT NULL THEN (
                        SELECT l.cause FROM runs l
                        WHERE l.input_hash = t.cancelled_input AND l.task_name = t.name
                          AND l.incarnation = t.incarnation AND l.kind = 'apply'
                          AND l.finished_at IS NOT NULL AND l.status IS DISTINCT FROM 'succeeded'
                        ORDER BY l.created_at DESC LIMIT 1)
                    WHEN t.last_applied IS NULL THEN (
                        SELECT CASE WHEN l.status = 'failed' THEN l.cause END FROM runs l
                        WHERE {result of l} AND l.task_name = t.name AND l.kind = 'apply'
                          AND l.incarnation = t.incarnation
                        ORDER BY l.incarnation DESC, l.created_at DESC, l.id DESC LIMIT 1)
                    END AS ended_cause,
               CASE WHEN r.waiting_for IS NOT NULL THEN r.due_at END AS waiting_due,
               r.input_hash AS running_input, r.withdrawn AS running_withdrawn, t.phase, t.enabled, t.held,
               t.applied_instances, t.released_instances,
               (SELECT i.instances FROM inputs i WHERE i.hash = r.input_hash) AS running_instances,
               q.awaits IS NOT NULL AS queued_awaits,
               EXISTS (SELECT 1 FROM approvals a WHERE a.task_name = t.name) AS has_approvals,
               CASE WHEN t.cancelled_input IS NOT NULL THEN (
                   SELECT max(a.decided_by) FROM approvals a
                   WHERE a.task_name = t.name AND a.incarnation = t.incarnation AND a.decision = 'rejected'
                     AND a.input_hash = t.cancelled_input) END AS rejected_by,
               CASE WHEN t.cancelled_input IS NOT NULL THEN (
                   SELECT max(a.comment) FROM approvals a
                   WHERE a.task_name = t.name AND a.incarnation = t.incarnation AND a.decision = 'rejected'
                     AND a.input_hash = t.cancelled_input) END AS rejected_comment,
               e.status AS earlier, e.requested AS earlier_requested,
               (SELECT a.refused IS NULL FROM run_requests a
                WHERE a.run_id = n.run AND a.task_name = n.task) AS request_open,
               (SELECT a.accompanies FROM run_requests a
                WHERE a.run_id = n.run AND a.task_name = n.task) AS request_accompanies
        FROM {rows $1 n: task TEXT, run UUID}
        JOIN tasks t ON t.name = n.task
        LEFT JOIN runs e ON e.id = n.run
        ",
            $open
        )
    };
}

/// The contexts of the tasks of a wave, by name. The tasks are locked, so that the contexts stay valid.
///
/// Postgres reads the open runs of each task separately, because the statistics about a queue are always outdated.
async fn contexts(
    c: &mut dyn Connection,
    requests: &[EnqueueRequest],
    wave: &[usize],
) -> Result<HashMap<String, EnqueueContext>, StoreError> {
    let rows = wave.iter().map(|&place| &requests[place]);
    let rows = rows.map(|request| json!({"task": request.task, "run": request.run.to_string()}));
    let text = c.dialect().pick(
        context!(
            "LEFT JOIN runs q ON q.task_name = t.name AND q.status = 'queued' AND q.kind = 'apply'
        LEFT JOIN runs r ON r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply'"
        ),
        context!(
            "LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'queued'
                           AND kind = 'apply' LIMIT 1) q ON TRUE
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'running'
                           AND kind = 'apply' LIMIT 1) r ON TRUE"
        ),
    );
    let contexts = sql("read the runs of tasks", text).bind(rows.collect::<Value>().to_string());
    let contexts = contexts.all(c, named).await?;
    Ok(contexts.into_iter().collect())
}

fn named(row: &dyn Columns) -> Result<(String, EnqueueContext), StoreError> {
    let name = Fields::new(row, "read the runs of tasks", "tasks").text("name")?;
    Ok((name.to_owned(), EnqueueContext::read(row)?))
}
