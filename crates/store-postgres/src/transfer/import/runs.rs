//! Runs and their events, on their way into this store.

use cts_core::RunId;
use cts_core::runs::RunSummary;
use cts_store::transfer::{EventRow, RunRow};
use cts_store::{StoreError, stored_kind};
use sqlx::PgConnection;

use super::OPERATION;
use super::columns::{column, json, stored_incarnation, without_null};
use crate::lease::stored_epoch;
use crate::row::{InputEncoding, encoded, encoded_details, encoded_plan, failed_to};

/// Stores runs.
pub(super) async fn insert(
    connection: &mut PgConnection,
    rows: &[RunRow],
) -> Result<(), StoreError> {
    let errors = rows.iter().map(|row| encoded(OPERATION, &row.errors));
    let errors = errors.collect::<Result<Vec<_>, _>>()?;
    let (mut changes, mut encodings, mut plans) = (Vec::new(), Vec::new(), Vec::new());
    let (mut summaries, mut findings) = (Vec::new(), Vec::new());
    let remotes = rows.iter().map(|row| json(row.remote_run.as_ref()));
    let remotes = remotes.collect::<Result<Vec<_>, _>>()?;
    let traces = rows.iter().map(|row| json(row.trace.as_ref()));
    let traces = traces.collect::<Result<Vec<_>, _>>()?;
    let causes = rows.iter().map(|row| json(row.cause.as_ref()));
    let causes = causes.collect::<Result<Vec<_>, _>>()?;
    let records = rows
        .iter()
        .map(|row| encoded(OPERATION, &row.attempt_records));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    for row in rows {
        let (summary, found) = encoded_details(OPERATION, row.details.as_ref())?;
        summaries.push(summary);
        findings.push(found);
        let plan = row.plan.as_ref();
        let content = plan.map(|plan| encoded_plan(OPERATION, plan)).transpose()?;
        let (encoding, content) = content.unzip();
        changes.push(plan.map(|plan| plan.changes_present));
        encodings.push(encoding.map(InputEncoding::as_str));
        plans.push(content);
    }
    let attempts = rows.iter().map(|row| i32::try_from(row.attempts));
    let attempts: Vec<i32> = attempts.map(|number| number.unwrap_or(i32::MAX)).collect();
    sqlx::query(
        "-- import: runs
        INSERT INTO runs (id, task_name, input_hash, status, attempts, errors, epoch, due_at,
                          started_at, finished_at, created_at, updated_at, kind, no_retry,
                          changes_present, plan_encoding, plan, requested,
                          incarnation, summary, findings, destroys, remote_run, requested_by,
                          trace, ended_attempts, cause, remote_group)
        SELECT * FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::INTEGER[],
                             $6::TEXT[], $7::BIGINT[], $8::BIGINT[], $9::BIGINT[],
                             $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::TEXT[],
                             $14::BOOLEAN[], $15::BOOLEAN[], $16::TEXT[], $17::BYTEA[],
                             $18::BOOLEAN[], $19::BIGINT[], $20::TEXT[], $21::TEXT[],
                             $22::TEXT[], $23::TEXT[], $24::TEXT[], $25::TEXT[],
                             $26::TEXT[], $27::TEXT[], $28::TEXT[])",
    )
    .bind(column(rows, |row| row.id.as_uuid()))
    .bind(column(rows, |row| row.task.as_str()))
    .bind(column(rows, |row| row.input.to_string()))
    .bind(column(rows, |row| row.status.as_str()))
    .bind(attempts)
    .bind(errors)
    .bind(column(rows, |row| stored_epoch(row.epoch)))
    .bind(column(rows, |row| row.due_at))
    .bind(column(rows, |row| row.started_at))
    .bind(column(rows, |row| row.finished_at))
    .bind(column(rows, |row| row.created_at))
    .bind(column(rows, |row| row.updated_at))
    .bind(column(rows, |row| stored_kind(row.kind).0))
    .bind(column(rows, |row| row.no_retry))
    .bind(changes)
    .bind(encodings)
    .bind(plans)
    .bind(column(rows, |row| row.requested))
    .bind(column(rows, |row| stored_incarnation(row.incarnation)))
    .bind(summaries)
    .bind(findings)
    .bind(column(rows, |row| stored_kind(row.kind).1))
    .bind(remotes)
    .bind(column(rows, |row| {
        row.requested_by.as_deref().map(without_null)
    }))
    .bind(traces)
    .bind(records)
    .bind(causes)
    .bind(column(rows, |row| row.remote_group.as_deref()))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Stores events of runs.
pub(super) async fn insert_events(
    connection: &mut PgConnection,
    rows: &[EventRow],
) -> Result<(), StoreError> {
    let configs = rows
        .iter()
        .map(|row| encoded(OPERATION, &row.event.config))
        .collect::<Result<Vec<_>, _>>()?;
    let summaries = rows
        .iter()
        .map(|row| {
            let summary = RunSummary {
                resources: row.event.resources,
                remote_url: row.event.remote_url.clone(),
                ..RunSummary::default()
            };
            (summary != RunSummary::default()).then(|| encoded(OPERATION, &summary))
        })
        .map(Option::transpose)
        .collect::<Result<Vec<_>, _>>()?;
    let causes = rows
        .iter()
        .map(|row| json(row.event.cause.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    sqlx::query(
        "-- import: events
        INSERT INTO events (position, id, task_name, run_id, success, start_time, end_time,
                            error, config, incarnation, summary, requested_by, cause)
        SELECT * FROM unnest($1::BIGINT[], $2::UUID[], $3::TEXT[], $4::UUID[], $5::BOOLEAN[],
                             $6::BIGINT[], $7::BIGINT[], $8::TEXT[], $9::TEXT[],
                             $10::BIGINT[], $11::TEXT[], $12::TEXT[], $13::TEXT[])",
    )
    .bind(column(rows, |row| row.position))
    .bind(column(rows, |row| row.event.id.as_uuid()))
    .bind(column(rows, |row| row.event.task_name.as_str()))
    .bind(column(rows, |row| row.event.run_id.map(RunId::as_uuid)))
    .bind(column(rows, |row| row.event.success))
    .bind(column(rows, |row| row.event.start_time.timestamp_micros()))
    .bind(column(rows, |row| row.event.end_time.timestamp_micros()))
    .bind(column(rows, |row| {
        row.event.error.as_deref().map(without_null)
    }))
    .bind(configs)
    .bind(column(rows, |row| stored_incarnation(row.incarnation)))
    .bind(summaries)
    .bind(column(rows, |row| {
        row.event.requested_by.as_deref().map(without_null)
    }))
    .bind(causes)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}
