//! Tokens and audit records.

use cts_store::{StoreError, StoredRecord, StoredToken};
use sqlx::PgConnection;

use super::OPERATION;
use super::columns::{column, without_null};
use crate::row::{encoded, failed_to};

/// Adds tokens.
pub(super) async fn tokens(
    connection: &mut PgConnection,
    rows: &[StoredToken],
) -> Result<(), StoreError> {
    let tasks = rows.iter().map(|row| encoded(OPERATION, &row.tasks));
    let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
    sqlx::query(
        "-- import: tokens
        INSERT INTO access_tokens (name, sha256, role, tasks, created_at, created_by, expires_at)
        SELECT * FROM unnest($1::TEXT[], $2::BYTEA[], $3::TEXT[], $4::TEXT[], $5::BIGINT[],
                             $6::TEXT[], $7::BIGINT[])",
    )
    .bind(column(rows, |row| row.name.as_str()))
    .bind(column(rows, |row| row.sha256.as_slice()))
    .bind(column(rows, |row| row.role.as_str()))
    .bind(tasks)
    .bind(column(rows, |row| row.created_at.timestamp_micros()))
    .bind(column(rows, |row| without_null(&row.created_by)))
    .bind(column(rows, |row| {
        row.expires_at.map(|end| end.timestamp_micros())
    }))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Adds audit records.
pub(super) async fn audit_records(
    connection: &mut PgConnection,
    rows: &[StoredRecord],
) -> Result<(), StoreError> {
    let arguments = rows
        .iter()
        .map(|row| encoded(OPERATION, &row.record.arguments))
        .collect::<Result<Vec<_>, _>>()?;
    let addresses = column(rows, |row| {
        row.record.caller.address.map(|address| address.to_string())
    });
    let addresses: Vec<String> = addresses
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    sqlx::query(
        "-- import: audit records
        INSERT INTO audit_records (number, recorded_at, caller_kind, caller, issuer, address, action,
                                   target, arguments, outcome, reason, request_id, calls)
        SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[], $5::TEXT[],
                             $6::TEXT[], $7::TEXT[], $8::TEXT[], $9::TEXT[], $10::TEXT[],
                             $11::TEXT[], $12::TEXT[], $13::BIGINT[])",
    )
    .bind(column(rows, |row| {
        i64::try_from(row.number).unwrap_or(i64::MAX)
    }))
    .bind(column(rows, |row| row.at.timestamp_micros()))
    .bind(column(rows, |row| row.record.caller.kind.as_str()))
    .bind(column(rows, |row| without_null(&row.record.caller.name)))
    .bind(column(rows, |row| without_null(&row.record.caller.issuer)))
    .bind(addresses)
    .bind(column(rows, |row| row.record.action.as_str()))
    .bind(column(rows, |row| without_null(&row.record.target)))
    .bind(arguments)
    .bind(column(rows, |row| row.record.outcome.as_str()))
    .bind(column(rows, |row| {
        without_null(row.record.outcome.reason())
    }))
    .bind(column(rows, |row| without_null(&row.record.request_id)))
    .bind(column(rows, |row| i64::from(row.record.count)))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}
