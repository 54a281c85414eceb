//! A real Vault, for one test.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::eventually::eventually;
use crate::ports::free_port;
use crate::programs::vault_path;

/// A port may be taken by another process between choice and use.
const PORT_TRIES: usize = 5;
const READY_DEADLINE: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A Vault server on 127.0.0.1 that is unsealed and keeps everything in memory: `kv1/` is a store without versions, `kv/`
/// one with versions.
///
/// The server ends when this value is dropped, and also when the test process dies.
#[derive(Debug)]
pub struct VaultServer {
    client: Client,
    _child: Child,
    port: u16,
    key: String,
    root: String,
}

impl VaultServer {
    /// Starts a server; it answers when this returns.
    pub async fn start() -> Self {
        let client = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap_or_else(|error| panic!("no HTTP client: {error}"));
        for _ in 0..PORT_TRIES {
            let port = free_port();
            let mut child = Command::new(vault_path())
                .arg(format!("127.0.0.1:{port}"))
                .stdin(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .unwrap_or_else(|error| panic!("Vault cannot be started: {error}"));
            if answers(&client, port, &mut child).await {
                let mut server = Self {
                    client,
                    _child: child,
                    port,
                    key: String::new(),
                    root: String::new(),
                };
                server.set_up().await;
                return server;
            }
        }
        panic!("Vault did not start in {PORT_TRIES} tries");
    }

    async fn set_up(&mut self) {
        let shares = json!({"secret_shares": 1, "secret_threshold": 1});
        let made = self.write("sys/init", shares).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (self.key, self.root) = (text(&made["keys"][0]), text(&made["root_token"]));
        self.unseal().await;
        for (path, version) in [("kv1", "1"), ("kv", "2")] {
            let mount = json!({"type": "kv", "options": {"version": version}});
            self.write(&format!("sys/mounts/{path}"), mount).await;
        }
        // A store with versions is set up after the answer.
        eventually(READY_DEADLINE, async || {
            let data = json!({"data": {}});
            match self.call(Method::POST, "kv/data/ready", data).await {
                (status, _) if status.is_success() => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// `http://host:port`.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A token that may do everything.
    pub fn root_token(&self) -> &str {
        &self.root
    }

    /// Makes it forget its key, so that it answers nothing until [`Self::unseal`].
    pub async fn seal(&self) {
        self.write("sys/seal", json!({})).await;
    }

    /// Makes it answer again.
    pub async fn unseal(&self) {
        let key = json!({"key": self.key});
        self.write("sys/unseal", key).await;
    }

    /// Writes to Vault's API (`path` after `/v1/`) as root and returns the answer, null if it has none. Panics
    /// if Vault refuses.
    pub async fn write(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(Method::POST, path, body).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    /// Deletes what is at a path of its API.
    pub async fn delete(&self, path: &str) {
        let (status, answer) = self.call(Method::DELETE, path, Value::Null).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
    }

    /// Makes a token with these settings, such as `{"ttl": "2s"}`.
    pub async fn token(&self, settings: Value) -> String {
        let made = self.write("auth/token/create", settings).await;
        let token = made["auth"]["client_token"].as_str();
        token.unwrap_or_default().to_owned()
    }

    /// Makes a token and wraps it: what this gives can be unwrapped once.
    pub async fn wrapped_token(&self) -> String {
        let request = self
            .client
            .post(format!("{}/v1/auth/token/create", self.address()))
            .header("X-Vault-Token", &self.root)
            .header("X-Vault-Wrap-TTL", "60s");
        let answer: Value = match request.json(&json!({})).send().await {
            Ok(answer) => answer.json().await.unwrap_or_default(),
            Err(error) => panic!("Vault makes no token: {error}"),
        };
        let token = answer["wrap_info"]["token"].as_str();
        token.unwrap_or_default().to_owned()
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let request = self
            .client
            .request(method, format!("{}/v1/{path}", self.address()))
            .header("X-Vault-Token", &self.root);
        match request.json(&body).send().await {
            Ok(answer) => (answer.status(), answer.json().await.unwrap_or_default()),
            Err(error) => panic!("Vault does not answer {path}: {error}"),
        }
    }
}

/// Waits until it answers; false if it ends before that.
async fn answers(client: &Client, port: u16, child: &mut Child) -> bool {
    let url = format!("http://127.0.0.1:{port}/v1/sys/init");
    let answers = async {
        loop {
            if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                return false;
            }
            if client.get(&url).send().await.is_ok() {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let answered = tokio::time::timeout(READY_DEADLINE, answers).await;
    matches!(answered, Ok(true))
}
