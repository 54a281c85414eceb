//! The client against servers whose answers are scripted.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod answers;
mod discovery;
mod logs;
mod pages;
mod policies;
mod redirections;
mod refusals;
mod requests;
mod retries;
mod run_events;
mod signed_urls;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_hcp_terraform::{ApiError, Budget, Limits, Server, ServerSettings};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

const TOKEN: &str = "team-token-of-the-test";

/// Settings for a server on a loopback port, with short pauses.
fn settings(address: impl std::fmt::Display) -> ServerSettings {
    ServerSettings {
        allow_plain_http: true,
        limits: Limits {
            timeout: Duration::from_secs(5),
            first_pause: Duration::from_millis(10),
            retry_for: Duration::from_secs(5),
            ..Limits::default()
        },
        ..ServerSettings::new(format!("http://{address}"), SecretString::from(TOKEN))
    }
}

fn services() -> Value {
    json!({ "tfe.v2": "/api/v2/", "modules.v1": "/api/registry/v1/modules/", "login.v1": {} })
}

async fn discover(settings: &ServerSettings) -> Result<Server, ApiError> {
    Server::discover(settings, Arc::new(Recorder::default())).await
}

/// A server that was discovered, and then answers in the order of the script.
async fn scripted(script: impl IntoIterator<Item = ScriptedAnswer>) -> (ScriptedHttp, Server) {
    let discovery = ScriptedAnswer::Json(200, services());
    let http = ScriptedHttp::start(std::iter::once(discovery).chain(script)).await;
    let server = discover(&settings(http.address())).await.unwrap();
    (http, server)
}

/// A server that was discovered, to which a test adds answers with headers.
async fn mocked(budget: Arc<dyn Budget>) -> (MockServer, Server) {
    let http = MockServer::start().await;
    let discovery = ResponseTemplate::new(200).set_body_json(services());
    Mock::given(path("/.well-known/terraform.json"))
        .respond_with(discovery)
        .mount(&http)
        .await;
    let settings = settings(http.address());
    let server = Server::discover(&settings, budget).await.unwrap();
    (http, server)
}

/// The error with its causes.
fn report(error: &ApiError) -> String {
    cts_core::Chain(error).to_string()
}

fn json_answer(body: Value) -> ScriptedAnswer {
    ScriptedAnswer::Json(200, body)
}

fn run(id: &str, status: &str, message: &str) -> Value {
    json!({ "id": id, "type": "runs", "attributes": { "status": status, "message": message } })
}

/// Counts permits and notes reported pauses.
#[derive(Debug, Default)]
struct Recorder {
    permits: Mutex<usize>,
    pauses: Mutex<Vec<Duration>>,
}

#[async_trait]
impl Budget for Recorder {
    async fn permit(&self) {
        *self.permits.lock() += 1;
    }

    fn limited(&self, pause: Duration) {
        self.pauses.lock().push(pause);
    }
}
