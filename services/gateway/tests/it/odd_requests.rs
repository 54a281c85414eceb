//! Requests that ordinary clients cannot send (docs/rest.md#transport, #routes).

use crate::stage::Stage;
use crate::tasks::three_tasks;

#[tokio::test]
async fn what_is_no_valid_request_gets_a_bare_answer_and_the_end() {
    let stage = Stage::start(three_tasks()).await;
    let requests = [
        "GET /v1/health HTTP/1.1\r\n\r\n",
        "OPTIONS /v1/health HTTP/1.1\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /v1/tasks/%zz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/tasks/%2 HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    for request in requests {
        let answer = stage.send(request).await;
        assert_eq!(answer.status, 400, "{request:?} {answer:?}");
        assert_eq!(
            answer.header("Content-Type"),
            Some("text/plain; charset=utf-8")
        );
        assert_eq!(answer.header("Connection"), Some("close"));
        assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_closed() {
    let stage = Stage::start(three_tasks()).await;
    for request in [
        "nonsense\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nHost a\r\n\r\n",
        "GET\r\n\r\n",
    ] {
        let answer = stage.send(request).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (400, ""),
            "{request:?}"
        );
        assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
    }
}

#[tokio::test]
async fn options_of_the_server_are_not_the_apis() {
    let stage = Stage::start(three_tasks()).await;
    let answer = stage.ask("OPTIONS", "*").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
    assert_eq!(answer.header("Content-Type"), None);
    assert_eq!(stage.ask("GET", "*").await.status, 404);
}

#[tokio::test]
async fn old_and_proxy_requests_are_served() {
    let stage = Stage::start(three_tasks()).await;
    let requests = [
        "GET /v1/health HTTP/1.0\r\n\r\n",
        "GET http://other.example/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /v1/health HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
    ];
    for request in requests {
        let answer = stage.send(request).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (200, "{}\n"),
            "{request:?}"
        );
    }
    let connect = "CONNECT other.example:443 HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(stage.send(connect).await.status, 404);
}

#[tokio::test]
async fn the_answer_names_no_server() {
    let stage = Stage::start(three_tasks()).await;
    let answer = stage.ask("GET", "/v1/health").await;
    assert_eq!(answer.header("Server"), None);
    assert!(answer.header("Date").is_some());
    assert_eq!(answer.header("Content-Length"), Some("3"));
}
