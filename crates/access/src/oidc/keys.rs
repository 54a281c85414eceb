//! The public keys of an issuer: found by discovery, read again when they turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cts_core::{Chain, Outage};
use cts_tls::{Authorities, ClientFiles, TlsError};
use jsonwebtoken::jwk::{AlgorithmParameters, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use parking_lot::RwLock;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::IssuerSettings;

/// Pause between readings of the keys.
pub(super) const REFRESHED_EVERY: Duration = Duration::from_mins(5);

/// A key that is not known is looked for no more often.
const LOOKED_EVERY: Duration = Duration::from_secs(10);

/// Keys of an issuer that cannot be read any more.
const KEPT_FOR: Duration = Duration::from_hours(24);

/// Time for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of one answer.
const LONGEST_ANSWER: usize = 1 << 20;

/// An issuer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Its settings.
    #[error("the issuer {0:?} cannot be used")]
    Settings(String, #[source] TlsError),
    /// The HTTP client.
    #[error("an issuer cannot be asked")]
    Client(#[source] reqwest::Error),
    /// It does not answer.
    #[error("the issuer does not answer")]
    Unreachable(#[from] reqwest::Error),
    /// It answers something else.
    #[error("the issuer answers with {0}")]
    Answer(String),
    /// None of its keys fits.
    #[error("the issuer has no such key")]
    NoKey,
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct Keys {
    client: Client,
    issuer: String,
    current: RwLock<Option<Current>>,
    /// Increases with each other set of keys.
    version: AtomicU64,
    asking: Mutex<Asking>,
}

#[derive(Debug)]
struct Current {
    set: JwkSet,
    read: Instant,
}

#[derive(Debug, Default)]
struct Asking {
    last: Option<Instant>,
    outage: Outage,
}

/// The part of the discovery document that matters.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Keys {
    pub(super) fn new(settings: &IssuerSettings) -> Result<Self, IssuerError> {
        let files = ClientFiles {
            authorities: settings.ca_cert.clone().map(Authorities::File),
            ..ClientFiles::default()
        };
        let tls = files.read_now(&["h2", "http/1.1"]);
        let tls = tls.map_err(|source| IssuerError::Settings(settings.issuer.clone(), source))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .timeout(ANSWER_LIMIT)
            .build()
            .map_err(IssuerError::Client)?;
        Ok(Self {
            client,
            issuer: settings.issuer.clone(),
            current: RwLock::new(None),
            version: AtomicU64::new(0),
            asking: Mutex::new(Asking::default()),
        })
    }

    /// Number of the present set of keys.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The key with this id that makes such signatures, and the number of the set that it is in. A key that is not
    /// known is asked for, but not all the time.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<(Arc<DecodingKey>, u64), IssuerError> {
        if let Some(found) = self.known(id, algorithm) {
            return Ok(found);
        }
        let mut asking = self.asking.lock().await;
        // Another call may have asked meanwhile.
        if let Some(found) = self.known(id, algorithm) {
            return Ok(found);
        }
        if asking
            .last
            .is_none_or(|last| last.elapsed() >= LOOKED_EVERY)
        {
            self.ask(&mut asking).await?;
        }
        self.known(id, algorithm).ok_or(IssuerError::NoKey)
    }

    /// Reads the keys again.
    pub(super) async fn refresh(&self) {
        let mut asking = self.asking.lock().await;
        // Logged there.
        let _asked = self.ask(&mut asking).await;
    }

    fn known(&self, id: Option<&str>, algorithm: Algorithm) -> Option<(Arc<DecodingKey>, u64)> {
        let current = self.current.read();
        let current = current.as_ref()?;
        if current.read.elapsed() > KEPT_FOR {
            return None;
        }
        let mut keys = current.set.keys.iter().filter(|key| {
            let is_shared = matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
            let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
            let is_meant = id.is_none() || key.common.key_id.as_deref() == id;
            !is_shared && signs && is_meant
        });
        let fitting = keys.find_map(|key| {
            let key = DecodingKey::from_jwk(key).ok()?;
            let family = key.family();
            let fits = family != AlgorithmFamily::Hmac && family.algorithms().contains(&algorithm);
            fits.then(|| Arc::new(key))
        });
        Some((fitting?, self.version()))
    }

    async fn ask(&self, asking: &mut Asking) -> Result<(), IssuerError> {
        asking.last = Some(Instant::now());
        match self.read().await {
            Ok(set) => {
                if asking.outage.works() {
                    tracing::info!(target: "access", issuer = self.issuer, "the keys of the issuer are read again");
                }
                let mut current = self.current.write();
                if current.as_ref().is_none_or(|current| current.set != set) {
                    self.version.fetch_add(1, Ordering::AcqRel);
                }
                *current = Some(Current {
                    set,
                    read: Instant::now(),
                });
                Ok(())
            }
            Err(error) => {
                let text = Chain(&error).to_string();
                if asking.outage.fails_with(&text) {
                    tracing::warn!(target: "access", issuer = self.issuer, error = %text, "the keys of an issuer cannot be read, trying again");
                }
                Err(error)
            }
        }
    }

    async fn read(&self) -> Result<JwkSet, IssuerError> {
        let base = self.issuer.trim_end_matches('/');
        let discovery = format!("{base}/.well-known/openid-configuration");
        let discovery: Discovery = self.get(&discovery).await?;
        if discovery.issuer != self.issuer {
            let message = format!("the name {:?}", discovery.issuer);
            return Err(IssuerError::Answer(message));
        }
        let is_safe = |url: &Url| url.scheme() == "https" || self.issuer.starts_with("http://");
        let url = Url::parse(&discovery.jwks_uri).ok().filter(is_safe);
        let url = url.ok_or_else(|| IssuerError::Answer("no safe URL of its keys".to_owned()))?;
        let set: JwkSet = self.get(url.as_str()).await?;
        if set.keys.is_empty() {
            return Err(IssuerError::Answer("no keys".to_owned()));
        }
        Ok(set)
    }

    async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, IssuerError> {
        let mut answer = self.client.get(url).send().await?;
        if !answer.status().is_success() {
            return Err(IssuerError::Answer(answer.status().to_string()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ANSWER {
                return Err(IssuerError::Answer("more than 1 MiB".to_owned()));
            }
        }
        serde_json::from_slice(&body).map_err(|error| IssuerError::Answer(error.to_string()))
    }
}
