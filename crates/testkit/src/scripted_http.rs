//! An HTTP server whose answers a test writes down.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// Method, path and query as sent: `GET /v1/tasks?x=y`.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl ScriptedRequest {
    /// Value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        values.next().map(|(_, value)| value.as_str())
    }
}

/// Answer to a request.
#[derive(Debug, Clone)]
pub enum ScriptedAnswer {
    /// A status and a JSON body.
    Json(u16, Value),
    /// A status, a content type and a body.
    Text(u16, &'static str, String),
    /// A status, a content type and a body without its end: the connection is closed before.
    Cut(u16, &'static str, String),
    /// A status and a `Location`.
    Redirect(u16, String),
    /// The connection is closed without an answer.
    Close,
    /// No answer, for ever.
    Hang,
}

/// Answers requests on a loopback port in the order of its script, and keeps what it was asked. Ends when
/// dropped.
#[derive(Debug)]
pub struct ScriptedHttp {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ScriptedRequest>>>,
    script: Arc<Mutex<VecDeque<ScriptedAnswer>>>,
    _connections: JoinSet<()>,
}

impl ScriptedHttp {
    /// A server in plain text. One asked more often than `script` has answers closes the connection.
    pub async fn start(script: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self::serve(script, None).await
    }

    /// Starts the server with TLS.
    pub async fn start_tls(
        script: impl IntoIterator<Item = ScriptedAnswer>,
        tls: TlsAcceptor,
    ) -> Self {
        Self::serve(script, Some(tls)).await
    }

    async fn serve(
        script: impl IntoIterator<Item = ScriptedAnswer>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has free ports");
        let address = listener.local_addr().expect("it listens");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(script.into_iter().collect()));
        let mut connections = JoinSet::new();
        let responder = Responder {
            requests: Arc::clone(&requests),
            script: Arc::clone(&script),
        };
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (responder, tls) = (responder.clone(), tls.clone());
                open.spawn(async move {
                    match tls {
                        None => responder.converse(stream).await,
                        // One that does not come to terms with us is gone.
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => responder.converse(stream).await,
                            Err(_refused) => None,
                        },
                    }
                });
            }
        });
        Self {
            address,
            requests,
            script,
            _connections: connections,
        }
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ScriptedRequest> {
        lock(&self.requests).clone()
    }

    /// Method, path, query and body of all requests so far: `PATCH /v1/tasks/web {"Enabled":true}`.
    pub fn lines(&self) -> Vec<String> {
        let requests = self.requests();
        let line = |request: &ScriptedRequest| format!("{} {}", request.line, request.body);
        let lines = requests.iter().map(line);
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    /// Answers that are not requested yet.
    pub fn answers_left(&self) -> usize {
        lock(&self.script).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    mutex.lock()
}

#[derive(Clone)]
struct Responder {
    requests: Arc<Mutex<Vec<ScriptedRequest>>>,
    script: Arc<Mutex<VecDeque<ScriptedAnswer>>>,
}

impl Responder {
    /// Answers one request after the other; `None` at the end, whatever it is.
    async fn converse(
        self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    ) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let request = receive(&mut stream).await?;
            lock(&self.requests).push(request);
            let answer = lock(&self.script).pop_front();
            let answer = answer?;
            let missing = usize::from(matches!(answer, ScriptedAnswer::Cut(..)));
            let (status, header, body) = match answer {
                ScriptedAnswer::Json(status, body) => {
                    let header = "Content-Type: application/json".to_owned();
                    (status, header, format!("{body}\n"))
                }
                ScriptedAnswer::Text(status, kind, body)
                | ScriptedAnswer::Cut(status, kind, body) => {
                    (status, format!("Content-Type: {kind}"), body)
                }
                ScriptedAnswer::Redirect(status, to) => {
                    (status, format!("Location: {to}"), String::new())
                }
                ScriptedAnswer::Close => return None,
                ScriptedAnswer::Hang => std::future::pending().await,
            };
            let length = body.len() + missing;
            let text = format!(
                "HTTP/1.1 {status} x\r\n{header}\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            stream.write_all(text.as_bytes()).await.ok()?;
            stream.flush().await.ok()?;
            if missing > 0 {
                return None;
            }
        }
    }
}

/// The next request; `None` when the peer is gone or speaks something else.
pub(crate) async fn receive(
    stream: &mut (impl tokio::io::AsyncBufRead + Unpin),
) -> Option<ScriptedRequest> {
    let line = text_line(stream).await?;
    let (line, _version) = line.rsplit_once(" HTTP/1.")?;
    let mut headers = Vec::new();
    loop {
        let header = text_line(stream).await?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = ScriptedRequest {
        line: line.to_owned(),
        headers,
        body: String::new(),
    };
    let length = request.header("content-length").unwrap_or("0");
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}

async fn text_line(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}
