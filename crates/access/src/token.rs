//! Static tokens: 256 random bits behind a prefix (docs/access.md#tokens).

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

/// The beginning of every token, by which scanners for leaked secrets find them.
pub const TOKEN_PREFIX: &str = "cts_";

/// Bytes of chance in a token, and in the secret of a session.
pub(crate) const BYTES: usize = 32;

/// SHA-256 of a whole token, or of the secret of a session. Neither can be guessed, so they need no slow hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// A token that was just made; it is shown once.
#[derive(Debug)]
pub struct NewToken {
    /// The text.
    pub secret: SecretString,
    /// Its hash.
    pub hash: TokenHash,
}

impl NewToken {
    /// Makes a token of the system's randomness.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random() -> io::Result<Self> {
        let secret = SecretString::from(format!("{TOKEN_PREFIX}{}", random_text()?));
        let hash = TokenHash::of(secret.expose_secret());
        Ok(Self { secret, hash })
    }
}

/// [`BYTES`] of the system's randomness, for URLs and headers.
pub(crate) fn random_text() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl TokenHash {
    /// The hash of this token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The hash in these bytes, if there are 32.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_256_bits_and_differ() {
        let [one, other] = [(); 2].map(|()| NewToken::random().unwrap());
        let text = one.secret.expose_secret();
        let bytes = URL_SAFE_NO_PAD
            .decode(text.strip_prefix(TOKEN_PREFIX).unwrap())
            .unwrap();
        assert_eq!(bytes.len() * 8, 256);
        assert_ne!(one.hash, other.hash);
        assert_eq!(TokenHash::of(text), one.hash);
        assert!(!format!("{one:?}").contains(&text[4..]));
    }
}
