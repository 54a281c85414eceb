//! A Vault of a few paths. Strict: without the right token and the header of its clients it refuses, and it has nothing
//! that it was not given.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Answers and settings of the stub, and the requests that came.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Answers by method and path with parameters.
    pub(crate) answers: BTreeMap<String, (u16, Value)>,
    /// Tokens that it accepts.
    pub(crate) tokens: Vec<String>,
    /// The namespace that requests must name.
    pub(crate) namespace: String,
    /// Before every answer.
    pub(crate) delay: Duration,
    /// Method and path of every request, in order.
    pub(crate) asked: Vec<String>,
}

pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    contents: Arc<Mutex<Contents>>,
    _server: JoinSet<()>,
}

impl Stub {
    pub(crate) async fn start() -> Self {
        let contents = Arc::new(Mutex::new(Contents {
            tokens: vec!["root".to_owned()],
            ..Contents::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&contents));
        let mut server = JoinSet::new();
        server.spawn(async { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            contents,
            _server: server,
        }
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        change(&mut self.contents.lock().unwrap())
    }

    /// Sets the answer to `request`, such as `GET kv/x`, from now on.
    pub(crate) fn has(&self, request: &str, status: u16, answer: Value) {
        self.change(|contents| {
            contents
                .answers
                .insert(request.to_owned(), (status, answer))
        });
    }

    /// Makes `mount` a key-value store of this version for `path`.
    pub(crate) fn mounted(&self, path: &str, mount: &str, version: &str) {
        let data = json!({"data": {"path": mount, "type": "kv", "options": {"version": version}}});
        self.has(&format!("GET sys/internal/ui/mounts/{path}"), 200, data);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.change(|contents| std::mem::take(&mut contents.asked))
    }
}

async fn answer(State(contents): State<Arc<Mutex<Contents>>>, request: Request) -> Response {
    let (delay, status, body) = judge(&mut contents.lock().unwrap(), &request);
    drop(request);
    tokio::time::sleep(delay).await;
    (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
}

fn judge(contents: &mut Contents, request: &Request) -> (Duration, u16, Value) {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    let path = request.uri().path_and_query().unwrap().as_str();
    let path = path.strip_prefix("/v1/").unwrap();
    let asked = format!("{} {path}", request.method());
    contents.asked.push(asked.clone());
    let refused = |text: &str| (403, json!({"errors": [text]}));
    let (status, body) = if header("x-vault-request") != "true" {
        (412, json!({"errors": ["missing header"]}))
    } else if header("x-vault-namespace") != contents.namespace {
        refused("no such namespace")
    } else if !contents.tokens.contains(&header("x-vault-token")) {
        refused("permission denied")
    } else {
        let known = contents.answers.get(&asked).cloned();
        known.unwrap_or((404, json!({"errors": []})))
    };
    (contents.delay, status, body)
}
