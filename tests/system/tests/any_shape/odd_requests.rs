//! docs/rest.md#transport: texts that are not requests, and answers that HTTP servers give themselves.

use std::net::SocketAddr;

use crate::api::scene::Scene;
use crate::api::wire::exchange;

async fn bare(address: SocketAddr, bytes: &str, status: u16, content_type: Option<&str>) {
    let answer = exchange(address, bytes.as_bytes()).await;
    let answer = answer.unwrap_or_else(|error| panic!("{bytes:?}: {error}"));
    assert_eq!(answer.status, status, "{bytes:?}: {answer}");
    assert_eq!(
        answer.header("Access-Control-Allow-Origin"),
        None,
        "{bytes:?}"
    );
    if let Some(expected) = content_type {
        let got = answer.header("Content-Type").unwrap_or_default();
        assert!(got.starts_with(expected), "{bytes:?}: {got}");
    }
}

#[tokio::test]
async fn malformed_requests_get_a_bare_answer() {
    let scene = Scene::empty().await;
    let address = scene.instance.api.address();
    let plain = Some("text/plain");
    // An unreadable request gets only a status.
    for request in [
        "nonsense\r\n\r\n",
        "GET /v1/health\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nno header\r\n\r\n",
        "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        bare(address, request, 400, None).await;
    }
    for request in [
        "GET /v1/health HTTP/1.1\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /v1/tasks/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        bare(address, request, 400, plain).await;
    }
    let preflight = "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    bare(address, preflight, 200, None).await;
    let old = "GET /v1/health HTTP/1.0\r\n\r\n";
    let answer = exchange(address, old.as_bytes()).await.unwrap();
    assert_eq!(answer.status, 200, "HTTP/1.0 needs no host");
    scene.instance.stop().await;
}
