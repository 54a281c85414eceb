//! Webhooks: a receiver gets a message about an apply over HTTP (docs/runs.md#webhooks).

use std::time::Duration;

use cts_core::Clock;
use cts_tls::ClientFiles;
use hmac::{Hmac, Mac as _};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::http::{ClientError, client};
use crate::pace::Pace;
use crate::payload::AppliedRun;

/// A `webhook` block, with its dynamic values resolved.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// Its label, which tasks name.
    pub name: String,
    /// The URL of the receiver, which often holds a secret.
    pub url: SecretString,
    /// The secret that messages are signed with, if they are signed.
    pub secret: Option<SecretString>,
    /// For one request.
    pub timeout: Duration,
    /// Requests after a failed one.
    pub retries: u32,
    /// Authorities, certificate and key.
    pub tls: ClientFiles,
    /// Name that the receiver's certificate must carry, and that is sent as SNI.
    pub server_name: Option<String>,
}

/// A message cannot be delivered. No text has the URL in it.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is not an HTTP URL.
    #[error("`url` is not an http:// or https:// URL")]
    Url,
    /// Settings of the client cannot be used.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The message cannot be written.
    #[error("the message cannot be written")]
    Message(#[from] serde_json::Error),
    /// A value of the run cannot be sent in a header.
    #[error("the run has characters that no HTTP header can carry")]
    Header(#[from] reqwest::header::InvalidHeaderValue),
    /// The secret cannot be a key.
    #[error("the secret cannot be used")]
    Secret(#[from] hmac::digest::InvalidLength),
    /// No answer.
    #[error("the receiver cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The receiver refused.
    #[error("the receiver answers {0}")]
    Refused(StatusCode),
}

impl WebhookError {
    /// Whether the request may succeed a little later.
    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(error) => !error.is_builder(),
            Self::Refused(status) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            _ => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Webhook {
    settings: WebhookSettings,
    url: Url,
    client: Client,
}

impl Webhook {
    /// Reads the TLS files, blocking.
    pub(crate) fn new(settings: WebhookSettings) -> Result<Self, WebhookError> {
        let url = settings.url.expose_secret().parse::<Url>();
        let mut url = url.map_err(|_invalid| WebhookError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(WebhookError::Url);
        }
        let name = settings.server_name.as_deref();
        let client = client(&mut url, name, &settings.tls, settings.timeout)?;
        Ok(Self {
            settings,
            url,
            client,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// The secret and the URL, as a whole and the parts that may be secret.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = SecretString> {
        let url = &self.url;
        let parts = [
            Some(self.settings.url.expose_secret()),
            Some(url.as_str()),
            url.query(),
            url.password(),
            self.settings
                .secret
                .as_ref()
                .map(ExposeSecret::expose_secret),
        ];
        let parts: Vec<_> = parts
            .into_iter()
            .flatten()
            .map(SecretString::from)
            .collect();
        parts.into_iter()
    }

    pub(crate) async fn deliver(
        &self,
        applied: &AppliedRun,
        pace: Pace,
        clock: &dyn Clock,
    ) -> Result<(), WebhookError> {
        let message = applied.message(self.name())?;
        let key = format!("{}/{}", applied.key, self.name());
        let on_retry = |error: &WebhookError| {
            tracing::warn!(
                target: "handler.webhook",
                task_name = applied.task,
                webhook = self.name(),
                error = %cts_core::Chain(error),
                "a webhook was not delivered and is tried again"
            );
        };
        let send = || self.send(&key, &message, clock);
        pace.retry(
            self.settings.retries,
            WebhookError::is_passing,
            on_retry,
            send,
        )
        .await?;
        tracing::debug!(target: "handler.webhook", task_name = applied.task, webhook = self.name(), "webhook delivered");
        Ok(())
    }

    async fn send(&self, key: &str, message: &[u8], clock: &dyn Clock) -> Result<(), WebhookError> {
        let timestamp = clock.now().timestamp().to_string();
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", HeaderValue::from_str(key)?)
            .header("x-cts-timestamp", HeaderValue::from_str(&timestamp)?);
        if let Some(secret) = &self.settings.secret {
            let signature = signature(secret, &timestamp, message)?;
            request = request.header("x-cts-signature", HeaderValue::from_str(&signature)?);
        }
        let sent = request.body(message.to_vec()).send().await;
        // The body of the answer is not read, only its status.
        let answer = sent.map_err(|error| WebhookError::Unreachable(error.without_url()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(WebhookError::Refused(status)),
        }
    }
}

/// `v1=` and the HMAC-SHA256 over time and message with a dot in between, in hexadecimal digits.
fn signature(
    secret: &SecretString,
    timestamp: &str,
    message: &[u8],
) -> Result<String, hmac::digest::InvalidLength> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes())?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(message);
    Ok(format!("v1={:x}", mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `openssl dgst -sha256 -hmac`.
    #[test]
    fn a_signature_is_that_of_time_and_message() {
        let signature = signature(&"key".into(), "1700000000", b"{\"a\":1}").unwrap();
        assert_eq!(
            signature,
            "v1=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }
}
