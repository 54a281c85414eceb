//! Values found by the hashes of secrets.

use std::collections::HashMap;

use subtle::ConstantTimeEq as _;

use crate::token::TokenHash;

/// Bytes of a hash by which values are found. The duration of a search depends on these bytes only, which tell nothing
/// about the secret.
const PLACE: usize = 8;

/// Values by the hashes of their secrets.
#[derive(Debug, Clone)]
pub(crate) struct ByHash<T>(HashMap<[u8; PLACE], Vec<(TokenHash, T)>>);

impl<T> Default for ByHash<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByHash<T> {
    pub(crate) fn insert(&mut self, hash: TokenHash, value: T) {
        self.remove(&hash);
        self.0.entry(place(&hash)).or_default().push((hash, value));
    }

    pub(crate) fn remove(&mut self, hash: &TokenHash) {
        if let Some(candidates) = self.0.get_mut(&place(hash)) {
            candidates.retain(|(known, _value)| known != hash);
            if candidates.is_empty() {
                self.0.remove(&place(hash));
            }
        }
    }

    pub(crate) fn find(&self, hash: &TokenHash) -> Option<&T> {
        let candidates = self.0.get(&place(hash))?;
        let found = candidates
            .iter()
            .find(|(known, _value)| bool::from(known.0.ct_eq(&hash.0)));
        found.map(|(_known, value)| value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(TokenHash, T)> for ByHash<T> {
    fn from_iter<I: IntoIterator<Item = (TokenHash, T)>>(values: I) -> Self {
        let mut all = Self::default();
        for (hash, value) in values {
            all.insert(hash, value);
        }
        all
    }
}

fn place(hash: &TokenHash) -> [u8; PLACE] {
    let mut place = [0; PLACE];
    place.copy_from_slice(&hash.0[..PLACE]);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_and_removes_values_whose_hashes_begin_alike() {
        let hashes = [1, 2].map(|last| {
            let mut hash = [7; 32];
            hash[31] = last;
            TokenHash(hash)
        });
        let mut all: ByHash<_> = hashes.into_iter().zip(["a", "b"]).collect();
        assert_eq!(
            hashes.map(|hash| all.find(&hash).copied()),
            [Some("a"), Some("b")]
        );
        assert_eq!(all.find(&TokenHash([7; 32])), None);
        all.insert(hashes[0], "c");
        all.remove(&hashes[1]);
        assert_eq!(
            hashes.map(|hash| all.find(&hash).copied()),
            [Some("c"), None]
        );
        all.remove(&hashes[0]);
        assert!(all.is_empty());
    }
}
