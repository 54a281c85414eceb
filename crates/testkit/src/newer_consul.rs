//! A proxy in front of a real Consul that answers as newer versions do.

use std::net::{Ipv4Addr, SocketAddr};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Router, body};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The version that refuses keys with other characters than these, a colon among them.
const STRICT_KEYS: &str = "1.21.5";
const REFUSAL: &str =
    r#"invalid key name, keys should respect the "^[a-zA-Z0-9,_./\\-?&=]+$" format"#;

/// Passes requests on to a real Consul and changes the answers:
///
/// * A service whose meta value `ports` is a JSON list has it as `Ports`, and 0 as `Port`, as since Consul 1.22.
/// * The agent has the given version. Version 1.21.5 refuses keys with a colon.
///
/// Ends when dropped.
#[derive(Debug)]
pub struct NewerConsul {
    address: SocketAddr,
    _server: JoinSet<()>,
}

#[derive(Debug, Clone)]
struct Proxy {
    client: Client,
    server: String,
    version: &'static str,
}

impl NewerConsul {
    /// A proxy in front of the Consul at `server`, which is `host:port`.
    pub async fn start(server: String, version: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has free ports");
        let address = listener.local_addr().expect("the listener is bound");
        let client = Client::builder().no_proxy().build();
        let proxy = Proxy {
            client: client.expect("a client without settings"),
            server,
            version,
        };
        let router = Router::new().fallback(pass).with_state(proxy);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let serving = axum::serve(listener, router).await;
            serving.expect("the proxy serves");
        });
        Self {
            address,
            _server: server,
        }
    }

    /// `host:port` of the HTTP interface.
    pub fn address(&self) -> String {
        self.address.to_string()
    }
}

async fn pass(State(proxy): State<Proxy>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    if proxy.version == STRICT_KEYS && path.starts_with("/v1/kv/") && path.contains([':', '%']) {
        return answer(StatusCode::INTERNAL_SERVER_ERROR, Body::from(REFUSAL));
    }
    let body = body::to_bytes(body, usize::MAX).await;
    let url = format!("http://{}{}", proxy.server, head.uri);
    let mut request = proxy.client.request(head.method, url);
    if let Some(token) = head.headers.get("x-consul-token") {
        request = request.header("x-consul-token", token);
    }
    let sent = request.body(body.unwrap_or_default()).send().await;
    let Ok(answered) = sent else {
        return answer(StatusCode::BAD_GATEWAY, Body::empty());
    };
    let mut changed = answer(answered.status(), Body::empty());
    for (name, value) in answered.headers() {
        if name.as_str().starts_with("x-consul-") || name == "date" {
            changed.headers_mut().insert(name, value.clone());
        }
    }
    let bytes = answered.bytes().await.unwrap_or_default();
    let document = serde_json::from_slice::<Value>(&bytes).ok();
    let document = document.and_then(|document| proxy.as_newer(&path, document));
    *changed.body_mut() = match document {
        Some(document) => Body::from(document.to_string()),
        None => Body::from(bytes),
    };
    changed
}

fn answer(status: StatusCode, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

impl Proxy {
    /// The answer of a newer version, where it differs.
    fn as_newer(&self, path: &str, mut document: Value) -> Option<Value> {
        if path == "/v1/agent/self" {
            *document.pointer_mut("/Config/Version")? = json!(self.version);
        } else if path.starts_with("/v1/health/service/") {
            for entry in document.as_array_mut()? {
                name_ports(&mut entry["Service"]);
            }
        } else {
            return None;
        }
        Some(document)
    }
}

fn name_ports(service: &mut Value) -> Option<()> {
    let ports = service["Meta"].as_object_mut()?.remove("ports")?;
    service["Ports"] = serde_json::from_str(ports.as_str()?).ok()?;
    service["Port"] = json!(0);
    Some(())
}
