//! Documents of an issuer: where its keys are, and the keys.

use std::time::Duration;

use cts_core::excerpt;
use cts_tls::{Authorities, ClientFiles, TlsError};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Host;

use super::key_set::KeySet;
use super::settings::IssuerSettings;

/// Time for both documents.
pub(super) const READ_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of one document.
const LONGEST_DOCUMENT: usize = 1 << 20;

/// Bytes of an answer that an error shows.
const SHOWN: usize = 200;

/// An issuer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Its settings.
    #[error("the issuer {0:?} cannot be used")]
    Settings(String, #[source] Box<TlsError>),
    /// Its name.
    #[error("the issuer {0:?} is no URL with https:// (http:// only for this machine)")]
    Url(String),
    /// The HTTP client.
    #[error("the HTTP client for issuers cannot be made")]
    Client(#[source] reqwest::Error),
    /// Without an answer.
    #[error("the issuer does not answer")]
    Unreachable(#[from] reqwest::Error),
    /// Without an answer in time.
    #[error("the issuer does not answer within {} s", READ_LIMIT.as_secs())]
    Slow,
    /// Its answer is not the document.
    #[error("{0} {1}")]
    Answer(String, String),
    /// None of its keys fits.
    #[error("the issuer has no such key")]
    NoKey,
}

/// Reads the documents of one issuer.
#[derive(Debug)]
pub(super) struct Documents {
    client: Client,
    issuer: String,
    discovery: Url,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

impl Documents {
    pub(super) fn new(settings: &IssuerSettings) -> Result<Self, IssuerError> {
        let issuer = settings.issuer.clone();
        let base = issuer.trim_end_matches('/');
        let discovery = Url::parse(&format!("{base}/.well-known/openid-configuration")).ok();
        let discovery = discovery.filter(is_safe);
        let discovery = discovery.ok_or_else(|| IssuerError::Url(issuer.clone()))?;
        let files = ClientFiles {
            authorities: settings.ca_cert.clone().map(Authorities::File),
            ..ClientFiles::default()
        };
        let tls = files.read_now(&["h2", "http/1.1"]);
        let tls = tls.map_err(|source| IssuerError::Settings(issuer.clone(), Box::new(source)))?;
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .timeout(READ_LIMIT);
        if discovery.scheme() == "http" {
            // Plain text stays on this machine.
            client = client.no_proxy();
        }
        Ok(Self {
            client: client.build().map_err(IssuerError::Client)?,
            issuer,
            discovery,
        })
    }

    /// The present keys.
    pub(super) async fn read_keys(&self) -> Result<KeySet, IssuerError> {
        let read = async {
            let place = self.discover().await?;
            let published: Published = self.get(&place).await?;
            Ok(KeySet::new(published.keys))
        };
        let read = tokio::time::timeout(READ_LIMIT, read);
        read.await.map_err(|_elapsed| IssuerError::Slow)?
    }

    async fn discover(&self) -> Result<Url, IssuerError> {
        let discovery: Discovery = self.get(&self.discovery).await?;
        let refused = |problem: String| IssuerError::Answer(self.discovery.to_string(), problem);
        if discovery.issuer != self.issuer {
            let name = excerpt(&discovery.issuer, SHOWN);
            return Err(refused(format!("is about the issuer {name:?}")));
        }
        let place = Url::parse(&discovery.jwks_uri).ok();
        let is_allowed = |place: &Url| {
            is_safe(place) && (place.scheme() == "https" || self.discovery.scheme() == "http")
        };
        place.filter(is_allowed).ok_or_else(|| {
            let place = excerpt(&discovery.jwks_uri, SHOWN);
            refused(format!("has a `jwks_uri` that is not safe: {place:?}"))
        })
    }

    async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, IssuerError> {
        let refused = |problem: String| IssuerError::Answer(url.to_string(), problem);
        let mut answer = self.client.get(url.clone()).send().await?;
        if !answer.status().is_success() {
            return Err(refused(format!("answers {}", answer.status())));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_DOCUMENT {
                return Err(refused("is larger than 1 MiB".to_owned()));
            }
        }
        serde_json::from_slice(&body).map_err(|error| {
            let problem = excerpt(&error.to_string(), SHOWN);
            refused(format!("is not the document: {problem}"))
        })
    }
}

/// Keys that come in plain text over a network may be forged.
fn is_safe(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_encrypted = url.scheme() == "https";
    let has_user = !url.username().is_empty() || url.password().is_some();
    !has_user && (is_encrypted || (url.scheme() == "http" && is_local))
}
