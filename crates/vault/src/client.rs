//! Requests to Vault.

use std::sync::Arc;

use cts_http::with_server_name;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::error::{SettingsError, VaultError};
use crate::settings::VaultSettings;
use crate::unwrapped::Unwrapped;

/// Most bytes of an answer.
const LONGEST_ANSWER: usize = 16 << 20;

/// Characters that are not encoded in a path.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Asks Vault. Cheap to clone; clones share connections and the unwrapped token.
#[derive(Debug, Clone)]
pub struct Vault {
    client: Client,
    base: Url,
    pub(crate) settings: Arc<VaultSettings>,
    pub(crate) unwrapped: Arc<Mutex<Option<Unwrapped>>>,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    errors: Vec<String>,
}

impl Vault {
    /// A client; nothing is connected yet. Reads the TLS files.
    pub fn new(settings: VaultSettings) -> Result<Self, SettingsError> {
        let mut base: Url = settings
            .address
            .parse()
            .map_err(|_error| SettingsError::InvalidAddress)?;
        let host = base.host_str().unwrap_or_default().to_owned();
        let is_http = matches!(base.scheme(), "http" | "https");
        if !is_http || host.is_empty() || !base.username().is_empty() || base.password().is_some() {
            return Err(SettingsError::InvalidAddress);
        }
        let mut headers = HeaderMap::new();
        // Keeps a request that a browser was tricked into from being taken by Vault's agent.
        headers.insert("x-vault-request", HeaderValue::from_static("true"));
        if !settings.namespace.is_empty() {
            let namespace = HeaderValue::from_str(&settings.namespace);
            let namespace = namespace.map_err(|_invalid| SettingsError::InvalidNamespace)?;
            headers.insert("x-vault-namespace", namespace);
        }
        let mut builder = Client::builder()
            .default_headers(headers)
            // Once, and only where the token may go: to the same host with the same scheme.
            .redirect(redirect::Policy::custom(|attempt| {
                let next = attempt.url();
                let same = |first: &Url| {
                    first.scheme() == next.scheme() && first.host_str() == next.host_str()
                };
                if attempt.previous().first().is_some_and(same) && attempt.previous().len() == 1 {
                    attempt.follow()
                } else {
                    attempt.stop()
                }
            }))
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout);
        if let (Some(name), "https") = (&settings.server_name, base.scheme()) {
            builder = with_server_name(builder, name, &host)?;
            base.set_host(Some(name))
                .map_err(|_error| SettingsError::InvalidAddress)?;
        }
        let client = builder
            .tls_backend_preconfigured(settings.tls.read_now(&["h2", "http/1.1"])?)
            .build()
            .map_err(SettingsError::Build)?;
        Ok(Self {
            client,
            base,
            settings: Arc::new(settings),
            unwrapped: Arc::default(),
        })
    }

    /// Sends a request with the token in force; the answer's JSON.
    pub(crate) async fn ask(&self, method: Method, path: &str) -> Result<Value, VaultError> {
        let token = self.token().await?;
        self.ask_with(&token, method, path).await
    }

    pub(crate) async fn ask_with(
        &self,
        token: &SecretString,
        method: Method,
        path: &str,
    ) -> Result<Value, VaultError> {
        let mut value = HeaderValue::from_str(token.expose_secret())
            .map_err(|_invalid| VaultError::InvalidToken)?;
        value.set_sensitive(true);
        let request = self.client.request(method, self.url(path)?);
        let answer = answer_of(request.header("x-vault-token", value)).await?;
        let status = answer.status();
        if status.is_redirection() {
            return Err(VaultError::Redirected(host_of(&answer)));
        }
        let body = body_of(answer).await?;
        if status.is_success() {
            if body.is_empty() {
                return Ok(Value::Null);
            }
            return serde_json::from_slice(&body).map_err(VaultError::Decode);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return Err(VaultError::Sealed);
        }
        let refusal = serde_json::from_slice::<ErrorBody>(&body);
        Err(VaultError::Refused {
            status: status.as_u16(),
            errors: refusal.map(|refusal| refusal.errors).unwrap_or_default(),
        })
    }

    /// Makes the URL of a path below `/v1/`, with the parameters that may follow it.
    fn url(&self, path: &str) -> Result<Url, VaultError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_segment = |segment: &str| !matches!(segment, "" | "." | "..");
        if !path.split('/').all(is_segment) {
            return Err(VaultError::InvalidPath(path.to_owned()));
        }
        let segments = path
            .split('/')
            .map(|segment| utf8_percent_encode(segment, &IN_PATH));
        let mut url = self.base.clone();
        let mut whole = url.path().trim_end_matches('/').to_owned();
        whole.push_str("/v1");
        for segment in segments {
            whole.push('/');
            whole.extend(segment);
        }
        url.set_path(&whole);
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        Ok(url)
    }
}

/// Where a redirection leads.
fn host_of(answer: &Response) -> String {
    let location = answer.headers().get(header::LOCATION);
    let location = location
        .and_then(|location| location.to_str().ok())
        .unwrap_or_default();
    let url = answer.url().join(location).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("nowhere");
    host.to_owned()
}

async fn answer_of(request: RequestBuilder) -> Result<Response, VaultError> {
    request.send().await.map_err(VaultError::Unreachable)
}

async fn body_of(mut answer: Response) -> Result<Vec<u8>, VaultError> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(VaultError::Unreachable)? {
        if body.len() + part.len() > LONGEST_ANSWER {
            return Err(VaultError::TooLong {
                limit: LONGEST_ANSWER,
            });
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}
