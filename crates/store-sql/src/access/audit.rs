//! Records of calls.

use std::time::Duration;

use cts_core::RunId;
use cts_core::callers::{AuditAction, AuditRecord};
use cts_store::cell::encoded;
use cts_store::enqueue::stored_trace;
use cts_store::{StoreError, StoredRecord, decode};

use crate::{Connection, integer, sql};

const OPERATION: &str = "record a call";

/// Maximum number of records forgotten in one statement.
const PAGE: i64 = 5_000;

/// Records the call that made a change, in the transaction of the change, and notes its caller in the run that the
/// call requests.
pub async fn note(
    c: &mut dyn Connection,
    record: Option<&AuditRecord>,
    run: Option<RunId>,
) -> Result<(), StoreError> {
    let Some(record) = record else {
        return Ok(());
    };
    if let Some(run) = run {
        let caller = record.caller.to_string();
        let is_deleted = record.action == AuditAction::DeleteTask;
        let statements = [
            "-- recording: the request of a run\nUPDATE run_requests SET requested_by = $2 WHERE run_id = $1",
            "-- recording: the run\nUPDATE runs SET requested_by = $2 WHERE id = $1",
            "-- recording: the run that is to destroy
            UPDATE tasks SET destroy_requested_by = $2 WHERE destroy_run = $1",
        ];
        for statement in &statements[..if is_deleted { 3 } else { 2 }] {
            let noted = sql(OPERATION, *statement).bind(run).bind(&caller);
            noted.execute(c).await?;
        }
        if let Some(trace) = stored_trace(record.trace.as_ref())? {
            let statements = [
                "-- recording: the trace of the request\nUPDATE run_requests SET trace = $2 WHERE run_id = $1",
                "-- recording: the trace of the run\nUPDATE runs SET trace = $2 WHERE id = $1",
            ];
            for statement in statements {
                let noted = sql(OPERATION, statement).bind(run).bind(&trace);
                noted.execute(c).await?;
            }
        }
    }
    write(c, std::slice::from_ref(record)).await
}

/// Whether a result fulfils a condition.
pub fn holds<T>(result: &T, condition: impl Fn(&T) -> bool) -> bool {
    condition(result)
}

/// Stores records. Other writers of records wait until the transaction ends, so numbers are in the order of commits.
pub async fn write(c: &mut dyn Connection, records: &[AuditRecord]) -> Result<(), StoreError> {
    let last = sql(
        OPERATION,
        "-- audit: numbers\nUPDATE audit_head SET number = number + $1 RETURNING number AS value",
    );
    let last = last.bind(records.len()).one(c, integer).await?;
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
    for (number, record) in (last - count + 1..).zip(records) {
        let caller = &record.caller;
        let address = caller.address.map(|address| address.to_string());
        let row = sql(
            OPERATION,
            "-- audit: a record
            INSERT INTO audit_records (number, recorded_at, caller_kind, caller, issuer, address, action,
                                       target, arguments, outcome, reason, request_id, calls)
            VALUES ($1, {now}, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        );
        row.bind(number)
            .bind(caller.kind.as_str())
            .bind(&caller.name)
            .bind(&caller.issuer)
            .bind(address.unwrap_or_default())
            .bind(record.action.as_str())
            .bind(&record.target)
            .bind(encoded(OPERATION, &record.arguments)?)
            .bind(record.outcome.as_str())
            .bind(record.outcome.reason())
            .bind(&record.request_id)
            .bind(record.count)
            .execute(c)
            .await?;
    }
    Ok(())
}

/// Records before a number, newest first.
pub async fn before(
    c: &mut dyn Connection,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<StoredRecord>, StoreError> {
    let records = sql(
        "read audit records",
        "-- audit_records
        SELECT number, recorded_at, caller_kind, caller, issuer, address, action, target, arguments, outcome,
               reason, request_id, calls
        FROM audit_records WHERE number < $1 ORDER BY number DESC LIMIT $2",
    );
    let before = before.unwrap_or(u64::MAX);
    records
        .bind(before)
        .bind(limit)
        .all(c, decode::audit_record)
        .await
}

/// Records after a number, oldest first.
pub async fn after(
    c: &mut dyn Connection,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredRecord>, StoreError> {
    let records = sql(
        "read audit records",
        "-- audit_records_after
        SELECT number, recorded_at, caller_kind, caller, issuer, address, action, target, arguments, outcome,
               reason, request_id, calls
        FROM audit_records WHERE number > $1 ORDER BY number LIMIT $2",
    );
    records
        .bind(after)
        .bind(limit)
        .all(c, decode::audit_record)
        .await
}

/// Forgets one page of old records, and of the records beyond `kept`.
pub async fn prune(
    c: &mut dyn Connection,
    kept_for: Duration,
    kept: u32,
) -> Result<u64, StoreError> {
    let mut forgotten = 0;
    for (statement, kept) in [
        (
            "-- prune_audit: old records
            DELETE FROM audit_records WHERE number IN (
                SELECT number FROM (SELECT number, recorded_at FROM audit_records ORDER BY number LIMIT $2) o
                WHERE o.recorded_at < {now} - $1)",
            None,
        ),
        (
            "-- prune_audit: too many refused requests; index audit_requests
            DELETE FROM audit_records WHERE number IN (
                SELECT number FROM audit_records WHERE action = 'request' AND number <= (
                    SELECT number FROM audit_records WHERE action = 'request'
                    ORDER BY number DESC LIMIT 1 OFFSET $1)
                ORDER BY number LIMIT $2)",
            Some(kept / 2),
        ),
        (
            "-- prune_audit: too many logins; index audit_logins
            DELETE FROM audit_records WHERE number IN (
                SELECT number FROM audit_records WHERE action IN ('session.begin', 'session.end') AND number <= (
                    SELECT number FROM audit_records WHERE action IN ('session.begin', 'session.end')
                    ORDER BY number DESC LIMIT 1 OFFSET $1)
                ORDER BY number LIMIT $2)",
            Some(kept / 4),
        ),
        (
            "-- prune_audit: too many records
            DELETE FROM audit_records WHERE number IN (
                SELECT number FROM audit_records WHERE number <= (
                    SELECT number FROM audit_records ORDER BY number DESC LIMIT 1 OFFSET $1)
                ORDER BY number LIMIT $2)",
            Some(kept),
        ),
    ] {
        let pruned = sql("forget audit records", statement);
        let pruned = match kept {
            None => pruned.bind(kept_for),
            Some(kept) => pruned.bind(kept),
        };
        forgotten += pruned.bind(PAGE).execute(c).await?;
    }
    Ok(forgotten)
}
