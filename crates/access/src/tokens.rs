//! The static tokens that are valid, by their hashes.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::callers::{CallerKind, Role, TaskPatterns};

use crate::by_hash::ByHash;
use crate::principal::Principal;
use crate::token::TokenHash;

/// A static token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenEntry {
    /// Its name.
    pub name: String,
    /// The hash of the token.
    pub hash: TokenHash,
    /// Its role.
    pub role: Role,
    /// The tasks that it may name.
    pub tasks: TaskPatterns,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
}

/// All static tokens at one moment.
#[derive(Debug, Clone, Default)]
pub struct TokenTable(ByHash<Arc<Principal>>);

impl TokenTable {
    /// A table of these tokens.
    pub fn new(entries: impl IntoIterator<Item = TokenEntry>) -> Self {
        let principals = entries.into_iter().map(|entry| {
            let principal = Principal {
                kind: CallerKind::Token,
                name: entry.name,
                issuer: String::new(),
                role: Some(entry.role),
                tasks: entry.tasks,
                expires_at: entry.expires_at,
            };
            (entry.hash, Arc::new(principal))
        });
        Self(principals.collect())
    }

    /// The owner of this token, also if the token has expired. Takes the time of one hash.
    pub fn find(&self, token: &str) -> Option<Arc<Principal>> {
        self.0.find(&TokenHash::of(token)).cloned()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
