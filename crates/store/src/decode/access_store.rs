//! Tokens, sessions and audit records.

use cts_core::callers::{AuditOutcome, AuditRecord, Caller, CallerKind, Role};

use crate::error::StoreError;
use crate::fields::{Columns, Fields};
use crate::store::access::{StoredRecord, StoredToken};
use crate::store::sessions::StoredSession;

/// A record of a call.
pub fn audit_record(row: &dyn Columns) -> Result<StoredRecord, StoreError> {
    let row =
        Fields::new(row, "read an audit record", "audit_records").keyed_by_number("number")?;
    let address = row.text("address")?;
    let address = (!address.is_empty()).then(|| row.cell("address").parse(address));
    let (outcome, reason) = (row.text("outcome")?, row.text("reason")?);
    let parsed = AuditOutcome::parse(outcome, reason);
    Ok(StoredRecord {
        number: row.number("number")?,
        at: row.time("recorded_at")?,
        record: AuditRecord {
            caller: Caller {
                kind: row.parse("caller_kind")?,
                name: row.text("caller")?.to_owned(),
                issuer: row.text("issuer")?.to_owned(),
                address: address.transpose()?,
            },
            action: row.parse("action")?,
            target: row.text("target")?.to_owned(),
            arguments: row.json("arguments")?,
            outcome: parsed.ok_or_else(|| row.cell("outcome").corrupt("it is no outcome"))?,
            request_id: row.text("request_id")?.to_owned(),
            count: row.number("calls")?,
            trace: None,
        },
    })
}

/// A token.
pub fn stored_token(row: &dyn Columns) -> Result<StoredToken, StoreError> {
    let row = Fields::new(row, "read a token", "access_tokens").keyed("name")?;
    let role: Option<Role> = row.text("role")?.parse().ok();
    let role = if row.flag("approves")? {
        role.map(|role| role.with(Role::Approve))
    } else {
        role
    };
    Ok(StoredToken {
        name: row.text("name")?.to_owned(),
        sha256: sha256(&row)?,
        role,
        tasks: row.json("tasks")?,
        created_at: row.time("created_at")?,
        created_by: row.text("created_by")?.to_owned(),
        expires_at: row.time_if_any("expires_at")?,
    })
}

/// A session.
pub fn stored_session(row: &dyn Columns) -> Result<StoredSession, StoreError> {
    let row = Fields::new(row, "read a session", "sessions").keyed("name")?;
    Ok(StoredSession {
        sha256: sha256(&row)?,
        // A kind of a later version.
        kind: row.text("kind")?.parse().unwrap_or(CallerKind::Anonymous),
        name: row.text("name")?.to_owned(),
        issuer: row.text("issuer")?.to_owned(),
        role: row.text("role")?.parse().ok(),
        tasks: row.json("tasks")?,
        begun_at: row.time("begun_at")?,
        ends_at: row.time("ends_at")?,
    })
}

fn sha256(row: &Fields<'_>) -> Result<[u8; 32], StoreError> {
    let bytes = row.bytes("sha256")?;
    let hash = bytes.try_into();
    hash.map_err(|_other| row.cell("sha256").corrupt("it is no SHA-256"))
}
