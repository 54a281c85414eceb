//! An emulator of S3, for one test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use tokio::process::{Child, Command};

use crate::eventually::eventually;
use crate::ports::free_port;
use crate::programs::moto_path;

const READY_DEADLINE: Duration = Duration::from_mins(1);

/// Names the caller. The server shows no object to a caller without a name, and checks no signature.
const CREDENTIAL: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request";

/// A server on 127.0.0.1 that speaks the protocol of S3 and keeps everything in memory. The server ends when
/// this value is dropped.
#[derive(Debug)]
pub struct ObjectStore {
    client: Client,
    _child: Child,
    port: u16,
}

impl ObjectStore {
    /// Starts a server with an empty bucket; it answers when this returns.
    pub async fn with_bucket(bucket: &str) -> Self {
        let client = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap_or_else(|error| panic!("no HTTP client: {error}"));
        let port = free_port();
        let child = Command::new(moto_path())
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("the S3 emulator cannot be started: {error}"));
        let server = Self {
            client,
            _child: child,
            port,
        };
        eventually(READY_DEADLINE, async || {
            server.call(Method::PUT, bucket, "").await.map(drop)
        })
        .await;
        server
    }

    /// `http://host:port`.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    /// The keys of a bucket, as the server lists them: XML.
    pub async fn list(&self, bucket: &str) -> String {
        let listed = self.call(Method::GET, bucket, "").await;
        listed.unwrap_or_else(|error| panic!("the bucket cannot be listed: {error}"))
    }

    /// Puts an object there.
    pub async fn put(&self, path: &str, content: &'static str) {
        let put = self.call(Method::PUT, path, content).await;
        put.unwrap_or_else(|error| panic!("{path} cannot be put: {error}"));
    }

    /// Removes an object.
    pub async fn remove(&self, path: &str) {
        let removed = self.call(Method::DELETE, path, "").await;
        removed.unwrap_or_else(|error| panic!("{path} cannot be removed: {error}"));
    }

    /// Returns the content of an object, by `bucket/key`; `None` if it does not exist.
    pub async fn get(&self, path: &str) -> Option<String> {
        match self.call(Method::GET, path, "").await {
            Ok(content) => Some(content),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => None,
            Err(error) => panic!("{path} cannot be got: {error}"),
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        content: &'static str,
    ) -> reqwest::Result<String> {
        let url = format!("{}/{path}", self.address());
        let request = self.client.request(method, url).body(content);
        let answer = request.header("Authorization", CREDENTIAL).send().await?;
        answer.error_for_status()?.text().await
    }
}
