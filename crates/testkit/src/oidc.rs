//! An OIDC issuer: its discovery document and its keys, over HTTP or HTTPS on the loopback, with faults on demand.

mod signing_key;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use self::signing_key::{SigningKey, SigningKeyKind, hmac_token};
use crate::certificates::Authority;
use crate::scripted_http::receive;

/// The path of the issuer, as several issuers of one server have it.
const BASE: &str = "/realms/ops";

/// A document of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IssuerDocument {
    /// `.well-known/openid-configuration`.
    Discovery,
    /// The set of its keys.
    Keys,
}

/// The answer in the place of a document.
#[derive(Debug, Clone)]
pub enum IssuerFault {
    /// The connection is closed without an answer.
    Closes,
    /// No answer, for ever.
    Silent,
    /// The status and the first half of an answer, then nothing.
    Slow,
    /// An answer with this status and text.
    Answer(u16, String),
    /// A redirect to this URL.
    Redirect(String),
}

/// Answers until it is dropped.
#[derive(Debug)]
pub struct OidcIssuer {
    url: String,
    shared: Arc<Mutex<Shared>>,
    _connections: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    name: String,
    jwks_uri: String,
    keys: Vec<Value>,
    faults: HashMap<IssuerDocument, IssuerFault>,
    requests: Vec<IssuerDocument>,
}

impl OidcIssuer {
    /// Starts an issuer in plain HTTP.
    pub async fn start() -> Self {
        Self::serve("http", None).await
    }

    /// Starts an issuer with a certificate of this authority.
    pub async fn start_tls(authority: &Authority) -> Self {
        let directory = TempDir::new().expect("there is room for a directory");
        let files = authority.write_pair(directory.path(), "issuer", &["127.0.0.1"]);
        Self::serve("https", Some(files.acceptor(None))).await
    }

    async fn serve(scheme: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has free ports");
        let address: SocketAddr = listener.local_addr().expect("it listens");
        let url = format!("{scheme}://{address}{BASE}");
        let shared = Arc::new(Mutex::new(Shared {
            name: url.clone(),
            jwks_uri: format!("{url}/keys"),
            ..Shared::default()
        }));
        let mut connections = JoinSet::new();
        let served = Arc::clone(&shared);
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, tls) = (Arc::clone(&served), tls.clone());
                open.spawn(async move {
                    match tls {
                        None => converse(stream, &shared).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => converse(stream, &shared).await,
                            Err(_refused) => None,
                        },
                    }
                });
            }
        });
        Self {
            url,
            shared,
            _connections: connections,
        }
    }

    /// The name of the issuer.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Publishes these keys in the place of the former.
    pub fn publish(&self, keys: &[&SigningKey]) {
        self.publish_documents(keys.iter().map(|key| key.jwk()).collect());
    }

    /// Publishes these JWK.
    pub fn publish_documents(&self, keys: Vec<Value>) {
        self.shared.lock().keys = keys;
    }

    /// Claims another name in the discovery document.
    pub fn rename(&self, name: &str) {
        name.clone_into(&mut self.shared.lock().name);
    }

    /// Names another place of the keys in the discovery document.
    pub fn move_keys(&self, url: &str) {
        url.clone_into(&mut self.shared.lock().jwks_uri);
    }

    /// Answers with a fault in the place of a document.
    pub fn fail(&self, document: IssuerDocument, fault: IssuerFault) {
        self.shared.lock().faults.insert(document, fault);
    }

    /// Ends all faults.
    pub fn recover(&self) {
        self.shared.lock().faults.clear();
    }

    /// How often a document was requested.
    pub fn requests(&self, document: IssuerDocument) -> usize {
        let shared = self.shared.lock();
        let requests = shared.requests.iter();
        requests.filter(|&&request| request == document).count()
    }
}

impl Shared {
    fn answer(&mut self, path: &str) -> IssuerFault {
        let (document, body) = match path.strip_prefix(BASE) {
            Some("/.well-known/openid-configuration") => {
                let body = json!({
                    "issuer": self.name,
                    "authorization_endpoint": format!("{}/authorize", self.name),
                    "jwks_uri": self.jwks_uri,
                    "response_types_supported": ["code"],
                });
                (IssuerDocument::Discovery, body)
            }
            Some("/keys") => (IssuerDocument::Keys, json!({"keys": self.keys})),
            _ => return IssuerFault::Answer(404, "no such document".to_owned()),
        };
        self.requests.push(document);
        let fault = self.faults.get(&document).cloned();
        fault.unwrap_or_else(|| IssuerFault::Answer(200, body.to_string()))
    }
}

/// Answers one request after the other; `None` at the end.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    shared: &Mutex<Shared>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = receive(&mut stream).await?;
        let path = request.line.strip_prefix("GET ")?;
        let answer = shared.lock().answer(path);
        let text = match answer {
            IssuerFault::Closes => return None,
            IssuerFault::Silent => std::future::pending().await,
            IssuerFault::Slow => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_owned(),
            IssuerFault::Answer(status, body) => {
                let length = body.len();
                format!(
                    "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                )
            }
            IssuerFault::Redirect(to) => {
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
            }
        };
        stream.write_all(text.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
}
