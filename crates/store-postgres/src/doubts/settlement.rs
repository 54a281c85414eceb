//! The end of doubts: the workers have reported, or the time is over.

use std::time::Duration;

use cts_core::{LeaderEpoch, WorkerId};
use cts_store::{LeaderError, Settlement, StoreError};
use cts_store_sql::leadership::fence;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use super::stored::{Doubts, open_for};
use crate::call::shared;
use crate::row::{failed_to, span_micros};

pub(crate) async fn settle(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    lease: Duration,
) -> Result<Settlement, LeaderError> {
    let failed = failed_to("settle what is in doubt");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    fence(&mut shared(&mut transaction), leader).await?;
    let doubts = Doubts::lock(&mut transaction).await?;
    let Some(doubts) = doubts.filter(|doubts| !doubts.settled) else {
        transaction.rollback().await.map_err(&failed)?;
        return Ok(Settlement::Settled);
    };
    let workers = sqlx::query(
        "-- settle: who has vouched
        SELECT worker_id, vouched FROM doubted_workers ORDER BY worker_id",
    )
    .fetch_all(&mut *transaction)
    .await
    .map_err(&failed)?;
    let mut silent = Vec::new();
    for row in &workers {
        let vouched: bool = row.try_get("vouched").map_err(&failed)?;
        if !vouched {
            let worker: String = row.try_get("worker_id").map_err(&failed)?;
            silent.push(WorkerId::new(worker));
        }
    }
    // Without a worker, no journal can show what is missing.
    let settlement = if workers.is_empty() || doubts.age >= span_micros(open_for(lease)) {
        decide(&mut transaction, "distrusted").await?;
        Settlement::Distrusted { silent }
    } else if silent.is_empty() && doubts.age >= span_micros(lease / 2) {
        decide(&mut transaction, "trusted").await?;
        trust(&mut transaction, doubts.changed_at).await?
    } else {
        Settlement::Open
    };
    transaction.commit().await.map_err(&failed)?;
    Ok(settlement)
}

async fn decide(
    transaction: &mut PgTransaction<'_>,
    settled: &'static str,
) -> Result<(), StoreError> {
    sqlx::query("-- settle: decided\nUPDATE continuity SET settled = $1")
        .bind(settled)
        .execute(&mut **transaction)
        .await
        .map_err(failed_to("settle what is in doubt"))?;
    Ok(())
}

/// Lets the voided inputs count as applied again, unless an attempt began since.
async fn trust(
    transaction: &mut PgTransaction<'_>,
    changed_at: i64,
) -> Result<Settlement, StoreError> {
    let failed = failed_to("trust tasks");
    sqlx::query(
        "-- settle: the tasks, in order
        SELECT FROM tasks ORDER BY name FOR NO KEY UPDATE",
    )
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let trusted = sqlx::query(
        "-- settle: what is trusted
        UPDATE tasks t
        SET last_applied = d.last_applied, tried_input = coalesce(t.tried_input, d.tried_input)
        FROM doubted_tasks d
        WHERE d.task_name = t.name AND NOT d.forgotten AND t.last_applied IS NULL
          AND (t.active_run IS NULL OR EXISTS (SELECT FROM doubted_runs o WHERE o.run_id = t.active_run))
          AND NOT EXISTS (SELECT FROM runs q
                          WHERE q.task_name = t.name AND q.status = 'queued' AND q.started_at IS NOT NULL
                            AND q.updated_at >= $1)
          AND t.name NOT IN (SELECT task_name FROM runs
                             WHERE status IN ('succeeded', 'failed', 'cancelled') AND finished_at >= $1
                               AND kind = 'apply')",
    )
    .bind(changed_at)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?
    .rows_affected();
    let untrusted: i64 = sqlx::query_scalar(
        "-- settle: what is not\nSELECT count(*) FROM doubted_tasks WHERE forgotten",
    )
    .fetch_one(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(Settlement::Trusted {
        trusted,
        untrusted: u64::try_from(untrusted).unwrap_or_default(),
    })
}
