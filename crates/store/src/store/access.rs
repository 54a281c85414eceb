//! Tokens, and the records of calls (docs/access.md).

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::callers::{AuditRecord, Role};

use crate::error::StoreError;

/// Tokens and audit records, as a trait of every store. Every method is one transaction, as those of
/// [`Store`](crate::Store) are.
#[async_trait]
pub trait AccessStore {
    /// Stores records of calls that change nothing by themselves, in the given order.
    async fn audit(&self, records: &[AuditRecord]) -> Result<(), StoreError>;

    /// Records with a smaller number than `before`, newest first, at most `limit`.
    async fn audit_records(
        &self,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError>;

    /// Records with a larger number than `after`, oldest first, at most `limit`.
    async fn audit_records_after(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError>;

    /// Forgets records older than `kept_for`, and the oldest records beyond `kept`.
    ///
    /// Refused requests take at most half of `kept`, so that they displace no other record. Returns the number of
    /// forgotten records.
    async fn prune_audit(&self, kept_for: Duration, kept: u32) -> Result<u64, StoreError>;

    /// Stores a token. Returns false without storing it if a token with this name exists.
    async fn create_token(&self, token: &NewStoredToken) -> Result<bool, StoreError>;

    /// Forgets a token. Returns whether the token existed.
    async fn revoke_token(&self, name: &str) -> Result<bool, StoreError>;

    /// All tokens by name, including expired tokens.
    async fn tokens(&self) -> Result<Vec<StoredToken>, StoreError>;
}

/// A record as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Position among all records, in the order of their transactions, without gaps.
    pub number: u64,
    /// Time of storing, by the clock of the database.
    pub at: DateTime<Utc>,
    /// The record.
    pub record: AuditRecord,
}

/// A token to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStoredToken {
    /// Its name.
    pub name: String,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// Its role.
    pub role: Role,
    /// Patterns of the tasks that the token is limited to; empty for all tasks.
    pub tasks: Vec<String>,
    /// Its creator, for display.
    pub created_by: String,
    /// Time to live, from now on; `None` without an end.
    pub life: Option<Duration>,
}

/// A token as stored, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Its name.
    pub name: String,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// Its role; `None` if this version does not know the role, so that the token grants no access.
    pub role: Option<Role>,
    /// Patterns of the tasks that the token is limited to; empty for all tasks.
    pub tasks: Vec<String>,
    /// Time of its creation.
    pub created_at: DateTime<Utc>,
    /// Its creator, for display.
    pub created_by: String,
    /// Time of its expiry; `None` without an end.
    pub expires_at: Option<DateTime<Utc>>,
}
