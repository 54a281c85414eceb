//! An emulator of S3, for one test.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Method};
use tokio::process::{Child, Command};

use crate::eventually::eventually;
use crate::ports::free_port;
use crate::programs::moto_path;

const READY_DEADLINE: Duration = Duration::from_mins(1);

/// A server on 127.0.0.1 that speaks the protocol of S3 and keeps everything in memory. It ends when this is dropped.
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
            server.call(Method::PUT, bucket).await.map(drop)
        })
        .await;
        server
    }

    /// `http://host:port`.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The keys of a bucket, as the server lists them: XML.
    pub async fn list(&self, bucket: &str) -> String {
        let listed = self.call(Method::GET, bucket).await;
        listed.unwrap_or_else(|error| panic!("the bucket cannot be listed: {error}"))
    }

    async fn call(&self, method: Method, path: &str) -> reqwest::Result<String> {
        let url = format!("{}/{path}", self.address());
        let answer = self.client.request(method, url).send().await?;
        answer.error_for_status()?.text().await
    }
}
