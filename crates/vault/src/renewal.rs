//! The token is kept alive.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use reqwest::Method;
use serde_json::Value;
use tokio::time::sleep;

use crate::client::Vault;
use crate::error::VaultError;

/// Between two looks at the token, at least and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_hours(1));

/// Before the next try after a failed one, at most: a token that lives shorter gets three tries in its last third.
const RETRY: Duration = Duration::from_secs(10);

impl Vault {
    /// Renews the token after two thirds of its life, again and again, if that is configured. A failure is
    /// logged and tried again; a token that cannot be renewed is left alone.
    pub async fn keep_token(&self) -> Infallible {
        let given = self.settings.token.is_some() || self.settings.token_file.is_some();
        if !self.settings.renew_token || !given {
            return pending().await;
        }
        let mut outage = Outage::default();
        let mut retry = RETRY;
        loop {
            match self.renew_if_possible().await {
                Ok(Some(life)) => {
                    outage.works();
                    retry = (life / 9).clamp(PAUSES.0, RETRY);
                    sleep((life * 2 / 3).clamp(PAUSES.0, PAUSES.1)).await;
                }
                Ok(None) => {
                    tracing::debug!("the token for Vault needs no renewal, or allows none");
                    return pending().await;
                }
                Err(error) => {
                    if outage.fails() {
                        tracing::warn!(error = %Chain(&error), "the token for Vault cannot be renewed");
                    }
                    sleep(retry).await;
                }
            }
        }
    }

    /// How long the token lives now; `None` if it lives for ever or cannot be renewed.
    async fn renew_if_possible(&self) -> Result<Option<Duration>, VaultError> {
        let token = self.ask(Method::GET, "auth/token/lookup-self").await?;
        let number = |place: &str| token.pointer(place).and_then(Value::as_u64);
        let is_renewable = token.pointer("/data/renewable") == Some(&Value::Bool(true));
        if !is_renewable || number("/data/ttl") == Some(0) {
            return Ok(None);
        }
        let renewed = self.ask(Method::POST, "auth/token/renew-self").await?;
        let life = renewed
            .pointer("/auth/lease_duration")
            .and_then(Value::as_u64);
        Ok(Some(Duration::from_secs(life.unwrap_or_default())))
    }
}
