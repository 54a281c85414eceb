//! Pages of other sites (docs/rest.md#browsers).

use crate::stage::Stage;
use crate::tasks::three_tasks;

const CHANGES: [(&str, &str); 8] = [
    ("POST", "/v1/tasks"),
    ("PUT", "/v1/tasks/dns"),
    ("PATCH", "/v1/tasks/dns"),
    ("DELETE", "/v1/tasks/dns"),
    ("POST", "/v1/tasks/dns/release"),
    ("POST", "/v1/tasks/dns/state"),
    ("POST", "/v1/tasks/dns/destroy-plan"),
    (
        "POST",
        "/v1/runs/0198c1f0-0000-7000-8000-000000000001/cancel",
    ),
];

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let stage = Stage::start(three_tasks()).await;
    for (method, path) in CHANGES {
        for kind in ["application/json", "text/plain"] {
            let headers = [("Origin", "http://evil.example"), ("Content-Type", kind)];
            let answer = stage.ask_with(method, path, &headers, b"{}").await;
            assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
            assert!(answer.body.contains("security.origins"), "{answer:?}");
        }
        let own = [
            ("Origin", "http://cts.example"),
            ("Content-Type", "application/json"),
        ];
        let known = [
            ("Origin", "https://ops.example"),
            ("Content-Type", "application/json"),
        ];
        for headers in [own, known] {
            let answer = stage.ask_with(method, path, &headers, b"{}").await;
            assert_ne!(answer.status, 403, "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn on_the_loopback_a_foreign_name_opens_nothing() {
    let stage = Stage::start(three_tasks()).await;
    for path in ["/v1/tasks", "/v1/status", "/v1/health"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
        let answer = stage.send(&request).await;
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert!(answer.body.contains("security.hosts"), "{answer:?}");
    }
}
