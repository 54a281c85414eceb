//! A site of somebody else, and a browser that shows its page.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cts_testkit::chromium_path;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

const PAGE: &str = include_str!("page.html");

/// The name of the site.
pub(crate) const NAME: &str = "evil.example";

/// The page makes about fifty requests.
const LIMIT: Duration = Duration::from_mins(2);

/// The destination of the requests that the page sends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The address of the API.
    Address,
    /// The name of the site, which leads to the API when the page is loaded.
    Rebound,
}

/// Lets a page of a foreign site attack the API, and returns the findings of the page.
pub(crate) async fn attack(api: SocketAddr, target: Target) -> Value {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let base = match target {
        Target::Address => format!("http://{api}"),
        Target::Rebound => String::new(),
    };
    let page = Arc::new(PAGE.replace("@API@", &base));
    let (findings, mut found) = mpsc::channel(1);
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (page, findings) = (Arc::clone(&page), findings.clone());
            open.spawn(async move { converse(stream, &page, &findings, api).await });
        }
    });
    let profile = TempDir::new().unwrap();
    let mut browser = Command::new(chromium_path())
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args(["--disable-sync", "--disable-breakpad", "--no-proxy-server"])
        .arg(format!("--host-resolver-rules=MAP {NAME} 127.0.0.1"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--remote-debugging-port=0")
        .arg(format!("http://{NAME}:{port}/page"))
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let received = timeout(LIMIT, found.recv()).await;
    let pid = i32::try_from(browser.id().unwrap()).unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    timeout(LIMIT, browser.wait()).await.unwrap().unwrap();
    let text = received.expect("the page reports its findings").unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Answers one request: the page, its findings, or the answer of the API.
async fn converse(
    stream: TcpStream,
    page: &str,
    findings: &mpsc::Sender<String>,
    api: SocketAddr,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = stream.read_line(&mut head).await.ok()?;
        if read == 0 {
            return None;
        }
    }
    let mut body = vec![0; content_length(&head)];
    stream.read_exact(&mut body).await.ok()?;
    let answer = if head.starts_with("GET /page ") {
        answer("text/html", page).into_bytes()
    } else if head.starts_with("POST /findings ") {
        findings.send(String::from_utf8(body).ok()?).await.ok()?;
        answer("text/plain", "").into_bytes()
    } else if head.starts_with("GET /favicon.ico ") {
        answer("text/plain", "").into_bytes()
    } else {
        pass_on(&head, &body, api).await?
    };
    stream.write_all(&answer).await.ok()?;
    stream.shutdown().await.ok()
}

/// The request goes to the API as the browser has sent it, as if the name led there.
async fn pass_on(head: &str, body: &[u8], api: SocketAddr) -> Option<Vec<u8>> {
    let mut upstream = TcpStream::connect(api).await.ok()?;
    let head = head.replace("Connection: keep-alive\r\n", "Connection: close\r\n");
    upstream.write_all(head.as_bytes()).await.ok()?;
    upstream.write_all(body).await.ok()?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).await.ok()?;
    Some(answer)
}

fn content_length(head: &str) -> usize {
    let mut lines = head.lines();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    length.unwrap_or(0)
}

fn answer(kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
