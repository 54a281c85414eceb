//! Settings in force: the backend and provider blocks that workers have, compared by keyed digests
//! (docs/configuration.md#settings-of-the-workers).

pub(crate) mod configuration;
mod decision;
mod digests;
mod key;
mod scope;

pub use self::decision::{SettingsDecision, SettingsTimeouts, Successor, decide_settings};
pub use self::digests::{BlockDigests, Comparison, SettingsBlocks};
pub use self::key::{ClusterKey, InvalidKey, KeyId};
pub use self::scope::{BACKEND_BLOCK, SettingsScope, provider_block, required_provider};

use crate::words::digest::Digest;

/// Blocks of a scope during some time. Each change makes a new generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsGeneration {
    /// Its number, unique among all generations of all scopes.
    pub number: u64,
    /// Its blocks.
    pub scope: SettingsScope,
    /// Digests of its blocks under each key that was in use; empty until a worker has reported digests.
    pub digests: BlockDigests,
    /// Whether the generation is in force; exactly one generation of each scope is.
    pub in_force: bool,
}

/// Returns the identity of the generation with this number in the inputs of the runs.
pub fn identity_of(number: u64) -> Digest {
    Digest::of_parts([&b"settings"[..], &number.to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_have_different_identities() {
        let [one, two] = [1, 2].map(identity_of);
        assert_ne!(one, two);
    }
}
