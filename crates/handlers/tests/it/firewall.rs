//! A firewall with one administrator. Strict: it takes the documented requests in a POST body and nothing else.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) const USER: &str = "cts<admin>";
pub(crate) const PASSWORD: &str = "pass&word=1";
pub(crate) const KEY: &str = "made-by-the-firewall==";

const COMMIT: &str = "<commit><description>Consul-Terraform-Sync</description><partial><admin>\
                      <member>cts&lt;admin&gt;</member></admin></partial></commit>";

/// Behaviour of the firewall, and the requests that it got.
#[derive(Debug)]
pub(crate) struct Conduct {
    /// Answers to commits, one after the other; once they are used up, a commit gets a job.
    pub(crate) commits: Vec<String>,
    /// Polls of the job until it has ended.
    pub(crate) polls: u32,
    /// The result of the job.
    pub(crate) result: &'static str,
    /// Requests of this type get no answer.
    pub(crate) hangs: Option<&'static str>,
    /// The types of all requests.
    pub(crate) asked: Vec<String>,
    /// Types and targets of requests that had one.
    pub(crate) targets: Vec<String>,
}

pub(crate) struct Firewall {
    pub(crate) address: SocketAddr,
    conduct: Arc<Mutex<Conduct>>,
    _server: JoinSet<()>,
}

impl Firewall {
    pub(crate) async fn start() -> Self {
        let conduct = Arc::new(Mutex::new(Conduct {
            commits: Vec::new(),
            polls: 2,
            result: "OK",
            hangs: None,
            asked: Vec::new(),
            targets: Vec::new(),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&conduct));
        let mut server = JoinSet::new();
        server.spawn(async { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            conduct,
            _server: server,
        }
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Conduct) -> T) -> T {
        change(&mut self.conduct.lock().unwrap())
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.change(|conduct| conduct.asked.clone())
    }
}

async fn answer(State(conduct): State<Arc<Mutex<Conduct>>>, request: Request) -> Response {
    let uri = request.uri().clone();
    if request.method() != Method::POST || uri.path() != "/api/" || uri.query().is_some() {
        return (StatusCode::BAD_REQUEST, "not like this").into_response();
    }
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await;
    let body = String::from_utf8(body.unwrap().to_vec()).unwrap();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let pairs = body.split('&').map(|pair| pair.split_once('=').unwrap());
    let mut form: BTreeMap<String, String> = pairs
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let kind = form.remove("type").unwrap();
    let hangs = {
        let mut conduct = conduct.lock().unwrap();
        conduct.asked.push(kind.clone());
        let target = form
            .remove("target")
            .map(|target| format!("{kind} {target}"));
        conduct.targets.extend(target);
        conduct.hangs == Some(kind.as_str())
    };
    if hangs {
        std::future::pending::<()>().await;
    }
    let denied = || {
        let text = "<response status=\"error\" code=\"403\"><result><msg>Invalid Credential</msg></result></response>";
        (StatusCode::FORBIDDEN, text).into_response()
    };
    if kind == "keygen" {
        let expected = BTreeMap::from([("user", USER), ("password", PASSWORD)]);
        if !form
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .eq(expected)
        {
            return denied();
        }
        return format!(
            "<response status=\"success\"><result><key>{KEY}</key></result></response>"
        )
        .into_response();
    }
    if form.remove("key").as_deref() != Some(KEY) {
        return denied();
    }
    let mut conduct = conduct.lock().unwrap();
    let command = form.remove("cmd").unwrap();
    match (kind.as_str(), command.as_str()) {
        ("commit", COMMIT) if form.remove("action").as_deref() == Some("partial") => {
            if !conduct.commits.is_empty() {
                return conduct.commits.remove(0).into_response();
            }
            "<response status=\"success\" code=\"19\"><result><msg><line>Commit job enqueued with jobid 7</line></msg><job>7</job></result></response>"
                .into_response()
        }
        ("op", "<show><jobs><id>7</id></jobs></show>") if form.is_empty() => {
            let (status, result) = match conduct.polls {
                0 => ("FIN", conduct.result),
                _ => ("ACT", "PEND"),
            };
            conduct.polls = conduct.polls.saturating_sub(1);
            format!(
                "<response status=\"success\"><result><job><id>7</id><status>{status}</status><result>{result}</result>\
                 <details><line>rule &lt;7&gt; has no zone</line><line>key is {KEY}</line></details></job></result></response>"
            )
            .into_response()
        }
        _ => (StatusCode::BAD_REQUEST, "not like this").into_response(),
    }
}
