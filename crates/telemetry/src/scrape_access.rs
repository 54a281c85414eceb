//! Access to the metrics (docs/telemetry.md#access).

use std::net::SocketAddr;

use cts_access::{Authenticator, bearer};
use http::{HeaderMap, StatusCode};

/// Credentials that `/metrics` needs. Health checks need none: they tell nothing but whether a service is ready.
#[derive(Debug, Clone, Default)]
pub struct ScrapeAccess {
    /// Whether a credential is needed.
    pub required: bool,
    /// Recognises tokens; without it only certificates count.
    pub authenticator: Option<Authenticator>,
}

impl ScrapeAccess {
    /// Refuses a request for metrics that has neither a certificate of the services' authority nor a token with a role
    /// for all tasks. A wrong token is answered after a pause, which grows with the failures of its address.
    pub(crate) async fn check(
        &self,
        certified: bool,
        headers: &HeaderMap,
        peer: SocketAddr,
    ) -> Result<(), StatusCode> {
        if !self.required || certified {
            return Ok(());
        }
        let (Some(authenticator), Some(token)) = (&self.authenticator, bearer(headers)) else {
            return Err(StatusCode::UNAUTHORIZED);
        };
        match authenticator.bearer(token.unwrap_or_default()).await {
            // Each role reads. The metrics name tasks.
            Ok(principal) if principal.role.is_some() && principal.tasks.is_all() => Ok(()),
            Ok(_too_little) => Err(StatusCode::FORBIDDEN),
            Err(denied) => {
                tracing::debug!(client = %peer, reason = %denied, "metrics are refused");
                authenticator.pause(Some(peer.ip())).await;
                Err(StatusCode::UNAUTHORIZED)
            }
        }
    }
}
