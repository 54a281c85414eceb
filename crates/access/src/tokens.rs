//! The static tokens that are valid, by their hashes.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::callers::{CallerKind, Role, TaskPatterns};
use subtle::ConstantTimeEq as _;

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
pub struct TokenTable(HashMap<[u8; PLACE], Vec<(TokenHash, Arc<Principal>)>>);

/// Bytes of a hash by which tokens are found. How long a look takes tells no more than these, and nothing of the
/// token that they are the hash of.
const PLACE: usize = 8;

impl TokenTable {
    /// A table of these tokens.
    pub fn new(entries: impl IntoIterator<Item = TokenEntry>) -> Self {
        let mut table: HashMap<_, Vec<_>> = HashMap::new();
        for entry in entries {
            let principal = Principal {
                kind: CallerKind::Token,
                name: entry.name,
                issuer: String::new(),
                role: Some(entry.role),
                tasks: entry.tasks,
                expires_at: entry.expires_at,
            };
            let place = table.entry(place(entry.hash)).or_default();
            place.push((entry.hash, Arc::new(principal)));
        }
        Self(table)
    }

    /// The owner of this token, also if the token has expired. Takes the time of one hash.
    pub fn find(&self, token: &str) -> Option<Arc<Principal>> {
        let hash = TokenHash::of(token);
        let candidates = self.0.get(&place(hash))?;
        let found = candidates
            .iter()
            .find(|(known, _)| bool::from(known.0.ct_eq(&hash.0)));
        found.map(|(_, principal)| Arc::clone(principal))
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn place(hash: TokenHash) -> [u8; PLACE] {
    let mut place = [0; PLACE];
    place.copy_from_slice(&hash.0[..PLACE]);
    place
}
