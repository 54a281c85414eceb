//! Logins that have begun at an issuer and wait for the browser to come back.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::sessions::SessionSecret;

/// A login that has begun: 256 random bits for a cookie. State, nonce and verifier are hashes of them, so that the
/// addresses that a browser opens do not show the verifier.
#[derive(Debug)]
pub struct PendingLogin(SessionSecret);

impl PendingLogin {
    /// Time for the person to log in at the issuer.
    pub const LASTS: Duration = Duration::from_mins(10);

    /// Makes a login of the system's randomness.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random() -> io::Result<Self> {
        SessionSecret::random().map(Self)
    }

    /// The login in a cookie; `None` if the text cannot be one.
    pub fn from_cookie(text: &str) -> Option<Self> {
        SessionSecret::from_cookie(text).map(Self)
    }

    /// The text for the cookie.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// `state` of the request (RFC 6749, 4.1.1).
    pub fn state(&self) -> String {
        self.derived("state")
    }

    /// Whether an answer with this `state` belongs to this login. Takes the same time for all states of one length.
    pub fn has_state(&self, state: &str) -> bool {
        self.state().as_bytes().ct_eq(state.as_bytes()).into()
    }

    /// `nonce` of the ID token (`OpenID` Connect Core 1.0, 3.1.2.1).
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// `code_verifier` (RFC 7636, 4.1): 43 characters.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn derived(&self, purpose: &str) -> String {
        let hash = Sha256::new().chain_update(purpose);
        let hash = hash.chain_update("\n").chain_update(self.expose());
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_again_by_its_cookie_alone() {
        let login = PendingLogin::random().unwrap();
        let again = PendingLogin::from_cookie(login.expose()).unwrap();
        assert!(again.has_state(&login.state()));
        assert_eq!(again.verifier(), login.verifier());
        let other = PendingLogin::random().unwrap();
        for state in [&other.state(), login.expose(), &login.nonce(), ""] {
            assert!(!login.has_state(state), "{state}");
        }
        let derived = [login.state(), login.nonce(), login.verifier()];
        assert!(derived.iter().all(|text| text.len() == 43));
        assert!(derived[0] != derived[1] && derived[1] != derived[2] && derived[0] != derived[2]);
        assert!(PendingLogin::from_cookie("AAAA").is_none());
    }
}
