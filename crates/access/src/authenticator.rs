//! From a credential to its owner.

use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::Clock;
use tokio::sync::watch;

use crate::denied::Denied;
use crate::failures::Failures;
use crate::oidc::Issuers;
use crate::principal::Principal;
use crate::token::TOKEN_PREFIX;
use crate::tokens::TokenTable;

/// Recognises callers by static tokens and by tokens of issuers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Authenticator {
    tokens: watch::Receiver<Arc<TokenTable>>,
    issuers: Issuers,
    failures: Failures,
    clock: Arc<dyn Clock>,
}

impl Authenticator {
    /// Recognises the static tokens of the newest table, and tokens of these issuers.
    pub fn new(
        tokens: watch::Receiver<Arc<TokenTable>>,
        issuers: Issuers,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            tokens,
            issuers,
            failures: Failures::default(),
            clock,
        }
    }

    /// The owner of a bearer token. Asks an issuer for its keys only if a token of it names a new key.
    ///
    /// # Errors
    /// If the token is of no use.
    pub async fn bearer(&self, token: &str) -> Result<Arc<Principal>, Denied> {
        let now = self.now();
        if token.starts_with(TOKEN_PREFIX) || self.issuers.is_empty() {
            let found = self.tokens.borrow().find(token);
            let principal = found.ok_or(Denied::Unknown)?;
            if principal.is_expired(now) {
                return Err(Denied::Expired(principal.name.clone()));
            }
            return Ok(principal);
        }
        self.issuers.verify(token, now).await
    }

    /// Counts a wrong credential of this address, and waits for the pause before it is answered.
    pub async fn pause(&self, address: Option<IpAddr>) {
        self.failures.pause(address).await;
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }
}
