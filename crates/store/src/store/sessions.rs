//! Sessions of the page (docs/access.md#sessions).

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::callers::{CallerKind, Role};

use crate::error::StoreError;

/// Sessions, as a trait of every store. Every method is one transaction, as those of [`Store`](crate::Store) are.
///
/// A session with a token ends with that token: when the token is revoked, and at its expiry.
#[async_trait]
pub trait SessionStore {
    /// Begins a session. If its person has `limits.of_person` sessions, the oldest one ends.
    async fn begin_session(
        &self,
        session: &NewStoredSession,
        limits: SessionLimits,
    ) -> Result<StoredSession, SessionError>;

    /// Ends a session. Returns whether the session existed.
    async fn end_session(&self, sha256: &[u8; 32]) -> Result<bool, StoreError>;

    /// Ends all sessions of persons with this name, of one kind or of all. Returns their number.
    async fn end_sessions_of(
        &self,
        name: &str,
        kind: Option<CallerKind>,
    ) -> Result<u64, StoreError>;

    /// All sessions that have not ended, ordered by hash; `None` if their version is still `known`.
    async fn sessions(&self, known: Option<i64>) -> Result<Option<StoredSessions>, StoreError>;
}

/// Largest numbers of sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// Sessions of one person.
    pub of_person: u32,
    /// Sessions of all persons.
    pub of_all: u32,
}

/// A session to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStoredSession {
    /// SHA-256 of its secret.
    pub sha256: [u8; 32],
    /// How its person was recognised.
    pub kind: CallerKind,
    /// The name of its person.
    pub name: String,
    /// The issuer that names the person; empty without one.
    pub issuer: String,
    /// Its role.
    pub role: Role,
    /// Patterns of the tasks that it is limited to; empty for all tasks.
    pub tasks: Vec<String>,
    /// SHA-256 of the static token of the login; `None` without one.
    pub token: Option<[u8; 32]>,
    /// Time to live, from now on.
    pub life: Duration,
}

/// A session as stored, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// SHA-256 of its secret.
    pub sha256: [u8; 32],
    /// How its person was recognised.
    pub kind: CallerKind,
    /// The name of its person.
    pub name: String,
    /// The issuer that names the person; empty without one.
    pub issuer: String,
    /// Its role; `None` if this version does not know the role, so that the session grants no access.
    pub role: Option<Role>,
    /// Patterns of the tasks that it is limited to; empty for all tasks.
    pub tasks: Vec<String>,
    /// Time of the login.
    pub begun_at: DateTime<Utc>,
    /// Time of its end.
    pub ends_at: DateTime<Utc>,
}

/// The sessions at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSessions {
    /// Changes with each change of the sessions, and may change spuriously.
    pub version: i64,
    /// The sessions by hash. A session never changes.
    pub sessions: Vec<StoredSession>,
}

/// Why a session does not begin.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The static token of the login is revoked or has expired.
    #[error("the token of the login is revoked or has expired")]
    TokenEnded,
    /// All persons together have too many sessions.
    #[error("there are {0} sessions: end some of them, or wait until some have ended")]
    TooMany(u32),
    /// The database has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
