//! Enqueueing frozen inputs as runs, many at a time.

mod changes;

use std::collections::{BTreeSet, HashMap};

use cts_core::LeaderEpoch;
use cts_store::enqueue::{EnqueueContext, EnqueueError};
use cts_store::{
    EncodedContents, EnqueueRequest, Enqueued, InputContents, LeaderError, StoreError,
};
use cts_store_sql::destruction::INPUTS_LOCK;
use cts_store_sql::leadership::fence;
use cts_store_sql::{inputs, shrink_limits};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use self::changes::Changes;
use crate::call::shared;
use crate::row::{by, failed_to};

pub(crate) async fn enqueue(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    requests: &[EnqueueRequest],
) -> Result<Vec<Enqueued>, LeaderError> {
    let contents = InputContents::of(requests);
    let mut known = inputs::known(&mut shared(connection), &contents.worth_asking()).await?;
    loop {
        let encoded = contents.encoded(&known).await?;
        match enqueue_encoded(connection, leader, requests, &encoded).await {
            Err(EnqueueError::Forgotten) => known.clear(),
            Err(EnqueueError::Leader(error)) => return Err(error),
            Ok(enqueued) => return Ok(enqueued),
        }
    }
}

/// Enqueues in one transaction.
async fn enqueue_encoded(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    requests: &[EnqueueRequest],
    encoded: &EncodedContents,
) -> Result<Vec<Enqueued>, EnqueueError> {
    let failed = failed_to("queue runs");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = fence(&mut shared(&mut transaction), leader).await?;
    lock(&mut transaction, requests).await?;
    let mut answers: Vec<Option<Enqueued>> = requests.iter().map(|_| None).collect();
    for wave in waves(requests) {
        let guarded = wave.iter().map(|&place| &requests[place]);
        let guarded = guarded.filter(|request| request.guarded.is_some());
        let guarded: Vec<&str> = guarded.map(|request| request.task.as_str()).collect();
        shrink_limits::count_known(&mut shared(&mut transaction), &guarded).await?;
        let contexts = contexts(&mut transaction, requests, &wave).await?;
        let mut changes = Changes::default();
        for place in wave {
            let request = &requests[place];
            let context = contexts.get(request.task.as_str());
            let plan = EnqueueContext::decide(context, request, now);
            changes.add(request, &plan)?;
            answers[place] = Some(plan.answer);
        }
        changes.write(&mut transaction, encoded, now).await?;
    }
    transaction.commit().await.map_err(&failed)?;
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

async fn lock(
    transaction: &mut PgTransaction<'_>,
    requests: &[EnqueueRequest],
) -> Result<(), StoreError> {
    let failed = failed_to("queue runs");
    sqlx::query(
        "-- enqueue: inputs that are referred to stay
        SELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(INPUTS_LOCK)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let names: BTreeSet<&str> = requests.iter().map(|r| r.task.as_str()).collect();
    sqlx::query(
        "-- enqueue: the tasks, in order
        SELECT FROM tasks WHERE name = ANY ($1) ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(names.into_iter().collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(())
}

/// The contexts of the tasks of a wave, by name. The tasks are locked, so that the contexts stay valid.
async fn contexts(
    transaction: &mut PgTransaction<'_>,
    requests: &[EnqueueRequest],
    wave: &[usize],
) -> Result<HashMap<String, EnqueueContext>, StoreError> {
    let names: Vec<&str> = wave.iter().map(|&at| requests[at].task.as_str()).collect();
    let runs: Vec<Uuid> = wave.iter().map(|&at| requests[at].run.as_uuid()).collect();
    let read = failed_to("read the runs of tasks");
    let rows = sqlx::query(
        "-- enqueue: what is known; indexes runs_one_queued, runs_one_running
        SELECT t.name, t.failures > 0 AS has_failed, t.skip_unchanged, t.last_applied,
               t.tried_input, t.cancelled_input, q.id AS queued_id,
               CASE WHEN t.owes_run IS NOT NULL AND NOT EXISTS (
                   SELECT FROM run_requests o
                   WHERE o.task_name = t.name AND o.kind = 'apply' AND o.refused IS NULL)
                 THEN t.owes_run END AS owes_run,
               q.input_hash AS queued_input, q.no_retry AS queued_no_retry, q.due_at AS queued_due,
               q.trace AS queued_trace, q.cause AS queued_cause,
               CASE WHEN r.waiting_for IS NOT NULL THEN r.due_at END AS waiting_due,
               r.input_hash AS running_input, r.withdrawn AS running_withdrawn, t.phase, t.enabled, t.held,
               t.applied_instances, t.released_instances,
               (SELECT i.instances FROM inputs i WHERE i.hash = r.input_hash) AS running_instances,
               e.status AS earlier, e.requested AS earlier_requested,
               (SELECT a.refused IS NULL FROM run_requests a
                WHERE a.run_id = n.run AND a.task_name = n.task) AS request_open,
               (SELECT a.accompanies FROM run_requests a
                WHERE a.run_id = n.run AND a.task_name = n.task) AS request_accompanies
        FROM unnest($1::TEXT[], $2::UUID[]) AS n (task, run)
        JOIN tasks t ON t.name = n.task
        LEFT JOIN runs e ON e.id = n.run
        -- Of each task for itself: what the statistics say of a queue is always out of date.
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'queued'
                           AND kind = 'apply' LIMIT 1) q ON TRUE
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'running'
                           AND kind = 'apply' LIMIT 1) r ON TRUE",
    )
    .bind(names)
    .bind(runs)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    let named = |row: &PgRow| {
        let name = row.try_get("name").map_err(&read)?;
        Ok((name, by(EnqueueContext::read)(row)?))
    };
    rows.iter().map(named).collect()
}
