//! Documents of an issuer: where its keys and its logins are, and the keys.

use std::time::Duration;

use cts_core::excerpt;
use cts_tls::{Authorities, ClientFiles, TlsError};
use http::Response;
use reqwest::redirect::Policy;
use reqwest::{Client, Request, Url};
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
    /// Its documents could not be read lately.
    #[error("the issuer cannot be read at the moment")]
    Unread,
    /// Without both endpoints of a login.
    #[error("the issuer names no safe `authorization_endpoint` and `token_endpoint`")]
    NoLogins,
}

/// Reads the documents of one issuer.
#[derive(Debug)]
pub(super) struct Documents {
    client: Client,
    issuer: String,
    discovery: Url,
}

/// The endpoints for logins of an issuer.
#[derive(Debug, Clone)]
pub(super) struct LoginEndpoints {
    pub(super) authorization: Url,
    pub(super) token: Url,
    /// Whether the issuer takes the secret of a client in the body of a request alone.
    pub(super) secret_in_body: bool,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
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

    /// The present keys, and the endpoints for logins, if the issuer has any.
    pub(super) async fn read(&self) -> Result<(KeySet, Option<LoginEndpoints>), IssuerError> {
        let read = async {
            let discovery = self.discover().await?;
            let place = self.allowed(&discovery.jwks_uri).ok_or_else(|| {
                let place = excerpt(&discovery.jwks_uri, SHOWN);
                let problem = format!("has a `jwks_uri` that is not safe: {place:?}");
                IssuerError::Answer(self.discovery.to_string(), problem)
            })?;
            let published: Published = self.get(&place).await?;
            Ok((KeySet::new(published.keys), self.endpoints(&discovery)))
        };
        let read = tokio::time::timeout(READ_LIMIT, read);
        read.await.map_err(|_elapsed| IssuerError::Slow)?
    }

    async fn discover(&self) -> Result<Discovery, IssuerError> {
        let discovery: Discovery = self.get(&self.discovery).await?;
        let refused = |problem: String| IssuerError::Answer(self.discovery.to_string(), problem);
        if discovery.issuer != self.issuer {
            let name = excerpt(&discovery.issuer, SHOWN);
            return Err(refused(format!("is about the issuer {name:?}")));
        }
        Ok(discovery)
    }

    /// A URL of the discovery document, if it is safe.
    fn allowed(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok().filter(is_safe)?;
        (url.scheme() == "https" || self.discovery.scheme() == "http").then_some(url)
    }

    fn endpoints(&self, discovery: &Discovery) -> Option<LoginEndpoints> {
        let methods = discovery.token_endpoint_auth_methods_supported.as_deref();
        let has = |name: &str| methods.is_some_and(|all| all.iter().any(|method| method == name));
        Some(LoginEndpoints {
            authorization: self.allowed(discovery.authorization_endpoint.as_deref()?)?,
            token: self.allowed(discovery.token_endpoint.as_deref()?)?,
            secret_in_body: has("client_secret_post") && !has("client_secret_basic"),
        })
    }

    /// The answer to a request, of at most 1 MiB. The timeout of the client covers its body, too.
    pub(super) async fn send(&self, request: Request) -> Result<Response<Vec<u8>>, IssuerError> {
        let url = request.url().to_string();
        let mut answer = self.client.execute(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_DOCUMENT {
                let problem = "is larger than 1 MiB".to_owned();
                return Err(IssuerError::Answer(url, problem));
            }
        }
        let mut read = Response::new(body);
        *read.status_mut() = answer.status();
        *read.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(read)
    }

    async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, IssuerError> {
        let refused = |problem: String| IssuerError::Answer(url.to_string(), problem);
        let request = self.client.get(url.clone()).build()?;
        let answer = self.send(request).await?;
        if !answer.status().is_success() {
            return Err(refused(format!("answers {}", answer.status())));
        }
        serde_json::from_slice(answer.body()).map_err(|error| {
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
