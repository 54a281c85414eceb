//! A Vault for tests, as far as cts asks it.

use std::net::SocketAddr;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Its secret, `password` of `kv/probe`.
pub(super) const SECRET: &str = "correct-horse-battery-staple";

/// The token that it takes.
pub(super) const TOKEN: &str = "token-of-vault";

/// A Vault with one secret.
pub(super) async fn vault(servers: &mut JoinSet<()>) -> SocketAddr {
    let answer = |headers: HeaderMap, uri: Uri| async move {
        let refused = |status, text: &str| (status, json!({"errors": [text]}).to_string());
        if headers
            .get("x-vault-token")
            .is_none_or(|token| token != TOKEN)
        {
            return refused(StatusCode::FORBIDDEN, "permission denied");
        }
        let answer: Value = match uri.path() {
            "/v1/sys/internal/ui/mounts/kv/probe" => {
                json!({"data": {"path": "kv/", "options": {"version": "2"}}})
            }
            "/v1/kv/data/probe" => {
                json!({"data": {"data": {"password": SECRET}, "metadata": {"version": 1}}})
            }
            _ => return refused(StatusCode::NOT_FOUND, "no such path"),
        };
        (StatusCode::OK, answer.to_string())
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer);
    servers.spawn(async { axum::serve(listener, router).await.unwrap() });
    address
}
