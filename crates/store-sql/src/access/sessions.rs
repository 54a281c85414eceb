//! Sessions of the page.
//!
//! Triggers change the version of the sessions. On Postgres writers lock the row of the version first.

use cts_core::callers::CallerKind;
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{
    NewStoredSession, SessionError, SessionLimits, StoreError, StoredSession, StoredSessions,
    decode,
};

use crate::{Connection, integer, sql};

const BEGIN: &str = "begin a session";

/// Begins a session within the limits.
pub async fn begin(
    c: &mut dyn Connection,
    session: &NewStoredSession,
    limits: SessionLimits,
) -> Result<StoredSession, SessionError> {
    let one_at_a_time = sql(
        BEGIN,
        "-- begin_session: the limits hold\nSELECT version FROM session_head FOR UPDATE",
    );
    one_at_a_time.on_postgres(c).await?;
    let (token, token_ends) = match &session.token {
        None => (None, None),
        Some(sha256) => {
            let token = sql(
                BEGIN,
                "-- begin_session: its token
                SELECT name, expires_at FROM access_tokens
                WHERE sha256 = $1 AND (expires_at IS NULL OR expires_at > {now})",
            );
            let token = token.bind(sha256.as_slice()).optional(c, |row| {
                let row = Fields::new(row, BEGIN, "access_tokens");
                Ok((
                    row.text("name")?.to_owned(),
                    row.integer_if_any("expires_at")?,
                ))
            });
            let (name, ends) = token.await?.ok_or(SessionError::TokenEnded)?;
            (Some(name), ends)
        }
    };
    let surplus = sql(
        BEGIN,
        "-- begin_session: the oldest sessions of the person; index sessions_person
        DELETE FROM sessions WHERE sha256 IN (
            SELECT sha256 FROM sessions
            WHERE name = $1 AND kind = $2 AND issuer = $3 AND ends_at > {now}
            ORDER BY begun_at DESC, sha256 LIMIT $4 OFFSET $5)",
    );
    let surplus = surplus
        .bind(&session.name)
        .bind(session.kind.as_str())
        .bind(&session.issuer)
        .bind(limits.of_all)
        .bind(limits.of_person.saturating_sub(1));
    surplus.execute(c).await?;
    let count = sql(
        BEGIN,
        "-- begin_session: all sessions; index sessions_ends
        SELECT count(*) AS value FROM sessions WHERE ends_at > {now}",
    );
    if count.one(c, integer).await? >= i64::from(limits.of_all) {
        return Err(SessionError::TooMany(limits.of_all));
    }
    let begun = sql(
        BEGIN,
        "-- begin_session
        INSERT INTO sessions (sha256, kind, name, issuer, role, tasks, token, begun_at, ends_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, {now}, CASE WHEN $9 < {now} + $8 THEN $9 ELSE {now} + $8 END)
        RETURNING sha256, kind, name, issuer, role, tasks, begun_at, ends_at",
    );
    let begun = begun
        .bind(session.sha256.as_slice())
        .bind(session.kind.as_str())
        .bind(&session.name)
        .bind(&session.issuer)
        .bind(session.role.as_str())
        .bind(encoded(BEGIN, &session.tasks)?)
        .bind(token)
        .bind(session.life)
        .bind(token_ends);
    Ok(begun.one(c, decode::stored_session).await?)
}

/// Ends a session.
pub async fn end(c: &mut dyn Connection, sha256: &[u8; 32]) -> Result<bool, StoreError> {
    let ended = sql(
        "end a session",
        "-- end_session\nDELETE FROM sessions WHERE sha256 = $1",
    );
    Ok(ended.bind(sha256.as_slice()).execute(c).await? == 1)
}

/// Ends the sessions of a name.
pub async fn end_all_of(
    c: &mut dyn Connection,
    name: &str,
    kind: Option<CallerKind>,
) -> Result<u64, StoreError> {
    let ended = sql(
        "end sessions",
        "-- end_sessions_of; index sessions_person
        DELETE FROM sessions WHERE name = $1 AND ends_at > {now} AND ($2 IS NULL OR kind = $2)",
    );
    let kind = kind.map(CallerKind::as_str);
    ended.bind(name).bind(kind).execute(c).await
}

/// The sessions that have not ended, unless their version is known. A change between the two statements is read again
/// with its version.
pub async fn all(
    c: &mut dyn Connection,
    known: Option<i64>,
) -> Result<Option<StoredSessions>, StoreError> {
    const OPERATION: &str = "read the sessions";
    let version = sql(
        OPERATION,
        "-- sessions: version\nSELECT version AS value FROM session_head",
    );
    let version = version.one(c, integer).await?;
    if known == Some(version) {
        return Ok(None);
    }
    let sessions = sql(
        OPERATION,
        "-- sessions
        SELECT sha256, kind, name, issuer, role, tasks, begun_at, ends_at FROM sessions
        WHERE ends_at > {now} ORDER BY sha256",
    );
    let sessions = sessions.all(c, decode::stored_session).await?;
    Ok(Some(StoredSessions { version, sessions }))
}
