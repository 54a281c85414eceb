//! The key of a cluster, for digests over secrets.

use std::fmt;

use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::words::digest::Digest;

/// A key that the schedulers and workers of a cluster share: 32 random bytes. `Debug` shows only its id.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey([u8; 32]);

/// Names a key without revealing it: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

/// A text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them")]
pub struct InvalidKey;

impl ClusterKey {
    /// The key with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key with these bytes.
    ///
    /// # Errors
    /// Fails unless there are 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidKey> {
        bytes.try_into().map(Self).map_err(|_error| InvalidKey)
    }

    /// Parses 64 hexadecimal digits.
    ///
    /// # Errors
    /// Fails for any other text, which the error does not show.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        // A digest has the same form.
        let read: Digest = text.parse().map_err(|_error| InvalidKey)?;
        Ok(Self(*read.as_bytes()))
    }

    /// Its bytes, for storage.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its id.
    pub fn id(&self) -> KeyId {
        let mut id = self.digest([&b"id of a cluster key"[..]]).to_string();
        id.truncate(16);
        KeyId(id)
    }

    /// The digest of a sequence of byte strings under this key, each with its length.
    pub fn digest<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        // HMAC accepts keys of all lengths.
        let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("a key of any length is taken")
        };
        hmac.update(Digest::of_parts(parts).as_bytes());
        Digest::from_bytes(hmac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClusterKey").field(&self.id()).finish()
    }
}

impl From<String> for KeyId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_the_key_and_on_where_a_part_ends() {
        let [one, two] = [1, 2].map(|byte| ClusterKey::new([byte; 32]));
        let of =
            |key: &ClusterKey, parts: &[&str]| key.digest(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&one, &["ab", "c"]), of(&one, &["ab", "c"]));
        assert_ne!(of(&one, &["ab", "c"]), of(&one, &["a", "bc"]));
        assert_ne!(of(&one, &["ab", "c"]), of(&two, &["ab", "c"]));
        assert_ne!(one.id(), two.id());
    }

    #[test]
    fn a_key_is_read_and_not_shown() {
        let text = "0a".repeat(32);
        let key = ClusterKey::parse(&text).unwrap();
        assert_eq!(key, ClusterKey::new([10; 32]));
        assert_eq!(ClusterKey::from_slice(key.expose()).as_ref(), Ok(&key));
        assert!(!format!("{key:?}").contains("0a0a"));
        for wrong in ["", "0a", &text[1..], "zz", &"zz".repeat(32)] {
            assert_eq!(ClusterKey::parse(wrong), Err(InvalidKey));
        }
        assert_eq!(ClusterKey::from_slice(&[1; 31]), Err(InvalidKey));
    }
}
