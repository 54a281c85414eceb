//! An OIDC issuer: its discovery document, its keys and its tokens for codes, over HTTP or HTTPS on the loopback, with
//! faults on demand.

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
use crate::scripted_http::{ScriptedRequest, receive};

/// The path of the issuer, as several issuers of one server have it.
const BASE: &str = "/realms/ops";

/// A document of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IssuerDocument {
    /// `.well-known/openid-configuration`.
    Discovery,
    /// The set of its keys.
    Keys,
    /// The answer to a code.
    Token,
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
    grants: HashMap<String, Value>,
    /// The key and the claims of the tokens of the person who is signed in.
    person: Option<(SigningKey, Value)>,
    token_requests: Vec<ScriptedRequest>,
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

    /// Gives this answer for a code, once.
    pub fn grant(&self, code: &str, answer: Value) {
        self.shared.lock().grants.insert(code.to_owned(), answer);
    }

    /// Whoever comes to log in is this person: an ID token has these claims, and is signed with this key (`P256`).
    pub fn sign_in(&self, key: SigningKey, claims: Value) {
        self.publish(&[&key]);
        self.shared.lock().person = Some((key, claims));
    }

    /// The requests with codes.
    pub fn token_requests(&self) -> Vec<ScriptedRequest> {
        self.shared.lock().token_requests.clone()
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
    fn answer(&mut self, request: &ScriptedRequest) -> IssuerFault {
        let (method, path) = request.line.split_once(' ').unwrap_or_default();
        let path = path.strip_prefix(BASE).unwrap_or_default();
        let mut status = 200;
        let (document, body) = match (method, path) {
            ("GET", "/.well-known/openid-configuration") => {
                let body = json!({
                    "issuer": self.name,
                    "authorization_endpoint": format!("{}/authorize", self.name),
                    "token_endpoint": format!("{}/token", self.name),
                    "jwks_uri": self.jwks_uri,
                    "response_types_supported": ["code"],
                });
                (IssuerDocument::Discovery, body)
            }
            ("GET", path) if path.starts_with("/authorize?") => return self.authorize(path),
            ("GET", "/keys") => (IssuerDocument::Keys, json!({"keys": self.keys})),
            ("POST", "/token") => {
                self.token_requests.push(request.clone());
                let mut fields = url::form_urlencoded::parse(request.body.as_bytes());
                let code = fields.find(|(name, _)| name == "code");
                let granted = code.and_then(|(_, code)| self.grants.remove(&*code));
                let body = granted.unwrap_or_else(|| {
                    status = 400;
                    json!({"error": "invalid_grant", "error_description": "the code is <used>"})
                });
                (IssuerDocument::Token, body)
            }
            _ => return IssuerFault::Answer(404, "no such document".to_owned()),
        };
        self.requests.push(document);
        let fault = self.faults.get(&document).cloned();
        fault.unwrap_or_else(|| IssuerFault::Answer(status, body.to_string()))
    }

    /// Leads a browser back with a code, if somebody is signed in.
    fn authorize(&mut self, path: &str) -> IssuerFault {
        let Some((key, claims)) = &self.person else {
            return IssuerFault::Answer(401, "nobody is signed in".to_owned());
        };
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let query: HashMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).collect();
        let of = |name: &str| query.get(name).map_or("", |value| &**value);
        let mut claims = claims.clone();
        claims["nonce"] = of("nonce").into();
        let code = format!("code-{}", self.grants.len());
        let (token, to) = (key.token("ES256", &claims), of("redirect_uri"));
        let back = format!("{to}?code={code}&state={}", of("state"));
        let answer = json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token});
        self.grants.insert(code, answer);
        IssuerFault::Redirect(back)
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
        let answer = shared.lock().answer(&request);
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
