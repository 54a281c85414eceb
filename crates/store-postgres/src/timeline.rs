//! The timeline of the server that this process works on.
//!
//! A failover to a replica, and a restore of a backup, begin a new timeline. Commits that were confirmed on the
//! previous timeline may be missing: grants of leases and of the leadership, and data that make an input count as
//! applied. So the first process that connects to a different timeline than the stored one voids, in one transaction,
//! whatever may have been forgotten: the leadership ends, epochs jump beyond every epoch that may have been granted,
//! and no input counts as applied. No run is leased until the leases that may have been forgotten are over.
//!
//! A failover breaks every connection, so each new connection is checked before its first use. The election of the
//! leader also checks, in case a pooler hides the failover.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use cts_core::EPOCH_STEP;
use cts_store_sql::leadership::LOCK;
use cts_store_sql::restored::{NO_CONSENT, NOTHING_APPLIED};
use sqlx::error::DatabaseError;
use sqlx::{Connection as _, PgConnection, Row as _};
use tokio::time::Instant;

use crate::doubts;

/// Errors of a server without timelines, or with a timeline that this user may not read.
const NOT_TOLD: [&str; 3] = ["42501", "42883", "0A000"];

const WITH_SYSTEM: &str = "-- timeline
    SELECT pg_is_in_recovery() AS replica,
           CASE WHEN NOT pg_is_in_recovery() THEN
               (SELECT system_identifier FROM pg_control_system()) || '/'
               || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
           END AS identity";

const WITHOUT_SYSTEM: &str = "-- timeline: without the system identifier
    SELECT pg_is_in_recovery() AS replica,
           CASE WHEN NOT pg_is_in_recovery() THEN
               left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
           END AS identity";

/// The server is a replica, or has just become a replica.
#[derive(Debug, thiserror::Error)]
#[error("the server only reads: it is a replica")]
struct ReadOnly;

/// Timeline as last read by this process. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline(Arc<Mutex<KnownTimeline>>);

#[derive(Debug, Default)]
struct KnownTimeline {
    /// The last checked timeline.
    identity: Option<String>,
    /// A time not before the beginning of the timeline, if the timeline began while leases could have been granted.
    since: Option<Instant>,
    /// Whether a warning was logged that the server does not report its timeline.
    warned: bool,
}

impl Timeline {
    /// Whether leases with this time to live may be in force that the timeline has forgotten.
    pub(crate) fn may_have_forgotten(&self, lease: Duration) -> bool {
        let since = self.known().since;
        since.is_some_and(|since| since.elapsed() < lease)
    }

    /// Compares the server's timeline with the stored timeline; if they differ, voids what may have been forgotten.
    /// Refuses a replica.
    pub(crate) async fn check(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let Some(identity) = self.ask(connection).await? else {
            return Ok(());
        };
        let row = sqlx::query(
            "-- timeline: the stored one
            SELECT identity, changed_at > 0 AS changed, cts_now() - changed_at AS age FROM continuity",
        )
        .fetch_one(&mut *connection)
        .await?;
        let stored: Option<String> = row.try_get("identity")?;
        let age = if stored.as_ref() == Some(&identity) {
            let changed: bool = row.try_get("changed")?;
            let age: i64 = row.try_get("age")?;
            changed.then(|| Duration::from_micros(u64::try_from(age).unwrap_or_default()))
        } else {
            change(connection, &identity).await?
        };
        self.note(identity, age);
        Ok(())
    }

    async fn ask(&self, connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
        let mut refusal = None;
        for question in [WITH_SYSTEM, WITHOUT_SYSTEM] {
            match sqlx::query(question).fetch_one(&mut *connection).await {
                Ok(row) if row.try_get("replica")? => {
                    return Err(sqlx::Error::Configuration(Box::new(ReadOnly)));
                }
                Ok(row) => return row.try_get("identity"),
                Err(sqlx::Error::Database(error)) if is_not_told(&*error) => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        let mut known = self.known();
        if let Some(refusal) = refusal
            && !known.warned
        {
            known.warned = true;
            tracing::warn!(
                target: "ha",
                error = %refusal,
                "the database does not tell its timeline, so a failover that loses commits goes unnoticed: \
                 replicate synchronously, or grant EXECUTE on pg_control_system and pg_walfile_name"
            );
        }
        Ok(None)
    }

    /// Notes the timeline; `age` is the time since its beginning, if a different timeline was stored before.
    fn note(&self, identity: String, age: Option<Duration>) {
        let now = Instant::now();
        let mut known = self.known();
        if known.identity.as_ref() == Some(&identity) {
            return;
        }
        // The answer takes some time, so this is never too early.
        known.since = age.and_then(|age| now.checked_sub(age));
        let before = known.identity.replace(identity);
        if let (Some(before), Some(now)) = (before, &known.identity) {
            tracing::warn!(
                target: "ha",
                before,
                now,
                "the database is on another timeline, after a failover or a restore: no run is leased for the life of \
                 a lease, the leader is elected anew, and a task runs again unless the workers vouch for it"
            );
        }
    }

    fn known(&self) -> parking_lot::MutexGuard<'_, KnownTimeline> {
        self.0.lock()
    }
}

fn is_not_told(error: &dyn DatabaseError) -> bool {
    error.code().is_some_and(|code| NOT_TOLD.contains(&&*code))
}

/// Stores `identity`, and voids what may have been forgotten. Returns the time since a process did that: zero if this
/// process did, and `None` if no timeline was stored before.
async fn change(
    connection: &mut PgConnection,
    identity: &str,
) -> Result<Option<Duration>, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::query(
        "-- timeline: one at a time, and no write of a leader meanwhile\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(LOCK)
    .execute(&mut *transaction)
    .await?;
    let row = sqlx::query(
        "-- timeline: changed meanwhile?
        SELECT identity, changed_at, changed_at > 0 AS changed, cts_now() - changed_at AS age FROM continuity",
    )
    .fetch_one(&mut *transaction)
    .await?;
    let stored: Option<String> = row.try_get("identity")?;
    if stored.as_deref() == Some(identity) {
        let changed: bool = row.try_get("changed")?;
        let age: i64 = row.try_get("age")?;
        transaction.commit().await?;
        return Ok(changed.then(|| Duration::from_micros(u64::try_from(age).unwrap_or_default())));
    }
    sqlx::query(
        "-- timeline: the new one
        UPDATE continuity
        SET identity = $1, changed_at = CASE WHEN identity IS NULL THEN 0 ELSE cts_now() END",
    )
    .bind(identity)
    .execute(&mut *transaction)
    .await?;
    let before = match stored {
        Some(stored) => Some(doubts::Before {
            identity: stored,
            changed_at: row.try_get("changed_at")?,
        }),
        None => None,
    };
    if let Some(before) = &before {
        void(&mut transaction, identity, before).await?;
    }
    transaction.commit().await?;
    Ok(before.map(|_| Duration::ZERO))
}

async fn void(
    connection: &mut PgConnection,
    identity: &str,
    before: &doubts::Before,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "-- timeline: the tasks, in order\nSELECT FROM tasks ORDER BY name FOR NO KEY UPDATE",
    )
    .execute(&mut *connection)
    .await?;
    doubts::keep(connection, identity, before).await?;
    for statement in [NOTHING_APPLIED, NO_CONSENT] {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    let step = i64::try_from(EPOCH_STEP).unwrap_or(i64::MAX);
    for statement in [
        "-- timeline: there is no leader
        UPDATE leadership
        SET epoch = epoch + $1, holder = NULL, incarnation = NULL, served_since = NULL, served_at = NULL",
        "-- timeline: epochs that may have been granted are not granted again
        UPDATE runs SET epoch = epoch + $1
        WHERE status = 'queued' OR status = 'running' AND holder = ''",
        // Renewals may have been forgotten, and the clock is that of a different host.
        "-- timeline: leases that are known go on
        UPDATE runs SET expires_at = cts_now() + greatest(expires_at - updated_at, 0)
        WHERE $1 > 0 AND status = 'running'",
    ] {
        sqlx::query(statement)
            .bind(step)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
