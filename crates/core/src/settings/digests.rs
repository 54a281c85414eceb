//! Digests of blocks and their comparison.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::key::{ClusterKey, KeyId};
use super::scope::{REQUIRED_PROVIDER, SettingsScope};
use crate::words::digest::Digest;

/// The blocks of a configuration by name, as the parts from which their digests are computed. They may hold secrets,
/// so `Debug` shows only the names.
#[derive(Clone, Default)]
pub struct SettingsBlocks(BTreeMap<String, Vec<String>>);

/// Digests of blocks, by name, under each of several keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockDigests(BTreeMap<KeyId, BTreeMap<String, Digest>>);

/// Result of comparing the blocks of two processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// The blocks are the same.
    Equal,
    /// The blocks with these names differ.
    Different(Vec<String>),
    /// No key was used by both processes.
    NoCommonKey,
}

impl SettingsBlocks {
    /// Adds a block. Equal blocks have equal parts.
    pub fn insert(&mut self, name: String, parts: Vec<String>) {
        self.0.insert(name, parts);
    }

    /// The digests of all blocks under each of `keys`.
    pub fn digests(&self, keys: &[ClusterKey]) -> BlockDigests {
        let under = |key: &ClusterKey| {
            let blocks = self.0.iter().map(|(name, parts)| {
                let named = std::iter::once(name).chain(parts);
                (name.clone(), key.digest(named.map(String::as_bytes)))
            });
            (key.id(), blocks.collect())
        };
        BlockDigests(keys.iter().map(under).collect())
    }
}

impl fmt::Debug for SettingsBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl FromIterator<(KeyId, BTreeMap<String, Digest>)> for BlockDigests {
    fn from_iter<I: IntoIterator<Item = (KeyId, BTreeMap<String, Digest>)>>(keys: I) -> Self {
        Self(keys.into_iter().collect())
    }
}

impl IntoIterator for BlockDigests {
    type Item = (KeyId, BTreeMap<String, Digest>);
    type IntoIter = btree_map::IntoIter<KeyId, BTreeMap<String, Digest>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl BlockDigests {
    /// Returns whether no key has digests.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The backend and provider blocks that these digests include and `others` lack, under any keys.
    pub fn lacking_in(&self, others: &Self) -> Vec<String> {
        let names = |digests: &Self| {
            let blocks = digests.0.values().flat_map(BTreeMap::keys);
            blocks.cloned().collect::<BTreeSet<String>>()
        };
        if others.is_empty() {
            return Vec::new();
        }
        let lacking = &names(self) - &names(others);
        let counts = |name: &String| !name.starts_with(REQUIRED_PROVIDER);
        lacking.into_iter().filter(counts).collect()
    }

    /// Only the blocks of this scope.
    #[must_use]
    pub fn within(&self, scope: &SettingsScope) -> Self {
        let of_scope = |blocks: &BTreeMap<String, Digest>| {
            let named = scope.blocks();
            let known = named.filter_map(|name| Some((name.to_owned(), *blocks.get(name)?)));
            known.collect()
        };
        let keys = self.0.iter();
        Self(
            keys.map(|(key, blocks)| (key.clone(), of_scope(blocks)))
                .collect(),
        )
    }

    /// Compares the digests of both under common keys. A block that only one of them has is a difference.
    pub fn compare(&self, other: &Self) -> Comparison {
        let mut common = self
            .0
            .iter()
            .filter_map(|(key, blocks)| Some((blocks, other.0.get(key)?)));
        let Some((mine, theirs)) = common.next() else {
            return Comparison::NoCommonKey;
        };
        let names = mine
            .keys()
            .chain(theirs.keys().filter(|name| !mine.contains_key(*name)));
        let different: Vec<String> = names
            .filter(|name| mine.get(*name) != theirs.get(*name))
            .cloned()
            .collect();
        if different.is_empty() {
            Comparison::Equal
        } else {
            Comparison::Different(different)
        }
    }

    /// Adds the keys of `other`, which has the same blocks.
    #[must_use]
    pub fn with_keys_of(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.0.extend(self.0.clone());
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> ClusterKey {
        ClusterKey::new([byte; 32])
    }

    fn blocks(of: &[(&str, &str)]) -> SettingsBlocks {
        let mut blocks = SettingsBlocks::default();
        for (name, text) in of {
            blocks.insert((*name).to_owned(), vec![(*text).to_owned()]);
        }
        blocks
    }

    #[test]
    fn blocks_compare_under_a_common_key_only() {
        let one = blocks(&[("backend", "a"), ("provider x", "s3cr3t")]);
        let other = blocks(&[("backend", "a"), ("provider y", "s3cr3t")]);
        let of_one = one.digests(&[key(1), key(2)]);
        assert_eq!(
            of_one.compare(&one.digests(&[key(2), key(3)])),
            Comparison::Equal
        );
        assert_eq!(
            of_one.compare(&one.digests(&[key(3)])),
            Comparison::NoCommonKey
        );
        let names = ["provider x", "provider y"].map(str::to_owned).to_vec();
        assert_eq!(
            of_one.compare(&other.digests(&[key(1)])),
            Comparison::Different(names)
        );
        let rotated = of_one.with_keys_of(&one.digests(&[key(2), key(3)]));
        assert_eq!(rotated.compare(&one.digests(&[key(3)])), Comparison::Equal);
        assert!(BlockDigests::default().is_empty());
    }

    #[test]
    fn a_block_that_is_gone_is_lacking_and_a_version_constraint_is_not() {
        let all = blocks(&[
            ("backend", "a"),
            ("provider x", "1"),
            ("required_provider x", "2"),
        ]);
        let (all, none) = (all.digests(&[key(1)]), BlockDigests::default());
        let changed = blocks(&[("backend", "b"), ("provider x", "3")]).digests(&[key(2)]);
        let gone = blocks(&[("backend", "a")]).digests(&[key(1)]);
        assert_eq!(all.lacking_in(&gone), ["provider x"]);
        assert!(all.lacking_in(&changed).is_empty());
        assert!(gone.lacking_in(&all).is_empty());
        assert!(all.lacking_in(&none).is_empty(), "no worker has reported");
    }

    #[test]
    fn nothing_outside_of_a_scope_counts() {
        let scope: SettingsScope = serde_json::from_str(r#"["backend","provider x"]"#).unwrap();
        let of = |text| blocks(&[("backend", "a"), ("provider y", text)]).digests(&[key(1)]);
        assert_ne!(of("1"), of("2"));
        assert_eq!(of("1").within(&scope), of("2").within(&scope));
        let with = blocks(&[("backend", "a"), ("provider x", "")]).digests(&[key(1)]);
        let different = Comparison::Different(vec!["provider x".to_owned()]);
        assert_eq!(
            with.within(&scope).compare(&of("1").within(&scope)),
            different
        );
    }
}
