//! Pages of other sites (docs/rest.md#browsers).

use crate::stage::{Scene, Stage};
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

async fn on_network() -> Stage {
    let scene = Scene {
        tasks: three_tasks(),
        on_network: true,
        ..Scene::default()
    };
    Stage::set(scene).await
}

fn request(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn on_a_network_a_rebound_name_opens_nothing_to_a_page() {
    let stage = on_network().await;
    let changes = CHANGES.map(|(method, path)| (method, path, "Origin: http://evil.example"));
    let reads = [
        ("GET", "/v1/tasks", "Accept-Language: de"),
        ("GET", "/v1/status", "Referer: http://evil.example/page"),
        ("GET", "/v1/health", "Sec-Fetch-Site: same-origin"),
    ];
    for (method, path, header) in changes.into_iter().chain(reads) {
        for (host, refused) in [("evil.example", true), ("cts.example", false)] {
            let header = header.replace("evil.example", host);
            let headers = format!("Host: {host}\r\n{header}\r\n");
            let answer = stage.send(&request(method, path, &headers)).await;
            assert_eq!(answer.status == 403, refused, "{method} {path} {host}");
            assert_eq!(
                answer.body.contains("security.hosts"),
                refused,
                "{answer:?}"
            );
        }
    }
}

#[tokio::test]
async fn on_a_network_programs_use_any_name() {
    let stage = on_network().await;
    for headers in [
        "User-Agent: curl/8.5.0\r\nAccept: */*\r\n",
        "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n",
        "User-Agent: Consul Health Check\r\nAccept: text/plain, text/*, */*\r\n",
    ] {
        let headers = format!("Host: lb.service.consul:8558\r\n{headers}");
        for path in ["/v1/health", "/v1/status", "/v1/tasks"] {
            let answer = stage.send(&request("GET", path, &headers)).await;
            assert_eq!(answer.status, 200, "{headers}: {answer:?}");
        }
        let answer = stage
            .send(&request("DELETE", "/v1/tasks/dns", &headers))
            .await;
        assert_eq!(answer.status, 202, "{headers}: {answer:?}");
    }
}
