//! Access to the metrics of `cts start` (docs/telemetry.md#access).

use cts_testkit::eventually;
use cts_tests::DEADLINE;
use cts_tests::{
    Backend, Exit, Instance, Scrape, Site, scrape_address, scrape_request, task as block,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::api::scene::{MODULE, prepare};

const REQUIRED: &str = "security {\n  require_auth = true\n}\n\
    telemetry {\n  listen = \"127.0.0.1:0\"\n}\n";

/// A new token with this role, and further options.
async fn token(site: &Site, name: &str, role: &str, more: &[&str]) -> String {
    let words = [
        "token",
        "create",
        name,
        "-role",
        role,
        "-config-file=cts.hcl",
    ];
    let words = [&words, more].concat();
    let made: Exit = site.run("cts", &words, &format!("{name}.log")).wait().await;
    made.assert_code(0);
    let token = made.output.lines().find(|line| line.starts_with("cts_"));
    token.unwrap().to_owned()
}

#[tokio::test]
async fn metrics_need_a_token_with_the_role_read_and_health_checks_need_none() {
    let (site, consul) = prepare(Site::new(), "").await;
    let tasks = [REQUIRED.to_owned(), block("web", MODULE, &["web"], "")];
    site.configure(&consul.address(), Backend::Shared, &tasks.concat());
    let instance = Instance::start_embedded(&site).await;
    let address = scrape_address(&instance.output()).unwrap();
    let reader = token(&site, "prometheus", "read", &[]).await;
    let operator = token(&site, "ci", "operate", &[]).await;
    let limited = token(&site, "team", "admin", &["-tasks=web"]).await;
    let ask = async |path: &str, token: &str| {
        let mut request = scrape_request(address).build().unwrap();
        request.url_mut().set_path(path);
        if !token.is_empty() {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.execute(request).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    // The listener hears of new tokens a moment later.
    for token in [&reader, &operator] {
        eventually(DEADLINE, async || match ask("/metrics", token).await {
            (200, text) => Ok(text),
            (status, text) => Err(format!("{status} {text}")),
        })
        .await;
    }
    // It is known, and the metrics name other tasks.
    eventually(DEADLINE, async || match ask("/metrics", &limited).await {
        (403, text) => Ok(text),
        (status, text) => Err(format!("{status} {text}")),
    })
    .await;
    for (path, token, status) in [
        ("/metrics", "", 401),
        ("/metrics", "cts_wrong", 401),
        ("/metrics", &reader, 200),
        ("/health/live", "", 200),
        ("/health/live", "cts_wrong", 200),
        ("/health/ready", "", 200),
        ("/", &reader, 404),
        ("/metrics/", &reader, 404),
    ] {
        assert_eq!(ask(path, token).await.0, status, "{path} {token:?}");
    }
    let (_, text) = ask("/metrics", &reader).await;
    for secret in [&reader, &operator] {
        assert!(!text.contains(secret.as_str()));
    }
    // One refused request of the API is counted.
    let refused = instance.api.ask("/v1/tasks").await.unwrap();
    assert_eq!(refused.0, 401, "{refused:?}");
    let (_, text) = ask("/metrics", &reader).await;
    let labels = ["interface=\"rest\"", "reason=\"unauthenticated\""];
    let counted = Scrape::parse(&text).sum("cts_calls_refused_total", &labels);
    assert!(counted >= 1.0, "{text}");
    instance.stop().await;
}

#[tokio::test]
async fn a_head_has_less_than_64_kib() {
    let (site, _consul) = prepare(Site::new(), REQUIRED).await;
    let instance = Instance::start_embedded(&site).await;
    let address = scrape_address(&instance.output()).unwrap();
    for (length, status) in [(30 << 10, "200"), (65 << 10, "431")] {
        let padding = "x".repeat(length);
        let request = format!(
            "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {padding}\r\n\r\n"
        );
        let mut socket = TcpStream::connect(address).await.unwrap();
        // The listener may close before it has read everything.
        drop(socket.write_all(request.as_bytes()).await);
        let mut line = [0; 12];
        socket.read_exact(&mut line).await.unwrap();
        assert_eq!(&line[9..], status.as_bytes(), "{length}");
    }
    instance.stop().await;
}
