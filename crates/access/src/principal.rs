//! Callers that are recognised.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use cts_core::callers::{Caller, CallerKind, Role, TaskPatterns};

/// A recognised caller, with the rights that its credential gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// How it was recognised.
    pub kind: CallerKind,
    /// Name of the token, subject, or name in the certificate.
    pub name: String,
    /// The issuer of a user's token; empty otherwise.
    pub issuer: String,
    /// Its role; `None` if the credential is good and gives none.
    pub role: Option<Role>,
    /// The tasks that it may name.
    pub tasks: TaskPatterns,
    /// When the credential ends.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Principal {
    /// The caller of a request that came from this address.
    pub fn caller(&self, address: Option<IpAddr>) -> Caller {
        Caller::new(self.kind, &self.name, address).of_issuer(&self.issuer)
    }

    /// Whether the credential has ended.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}
