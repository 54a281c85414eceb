//! Requests of a test to Consul: writes and reads over its HTTP interface.

use std::collections::BTreeMap;

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::ConsulAgent;
use crate::eventually;

/// A token that may do everything.
const MANAGEMENT: &str = "9a4e5b8c-3f0d-4b7e-8a51-2d6f7c1e0b93";

/// The configuration of an agent with access control, which allows whatever a token does not forbid.
pub fn access_control() -> Value {
    json!({"acl": {"enabled": true, "default_policy": "allow", "tokens": {"master": MANAGEMENT}}})
}

/// The configuration of an agent with access control, which denies whatever a token does not allow. Requests without a
/// token may do everything.
pub fn access_control_by_default_deny() -> Value {
    let tokens = json!({"master": MANAGEMENT, "default": MANAGEMENT});
    json!({"acl": {"enabled": true, "default_policy": "deny", "tokens": tokens}})
}

impl ConsulAgent {
    /// Registers a service with the agent; `service` is the body of `/v1/agent/service/register`.
    pub async fn register(&self, service: Value) {
        self.send(
            Method::PUT,
            "/v1/agent/service/register",
            service.to_string(),
        )
        .await;
    }

    /// Registers a service without checks.
    pub async fn register_service(
        &self,
        name: &str,
        id: &str,
        port: u16,
        meta: &[(&str, &str)],
        tags: &[&str],
    ) {
        let meta: BTreeMap<_, _> = meta.iter().copied().collect();
        self.register(json!({"Name": name, "ID": id, "Port": port, "Meta": meta, "Tags": tags}))
            .await;
    }

    /// Removes a service from the agent.
    pub async fn deregister(&self, id: &str) {
        self.put(&format!("/v1/agent/service/deregister/{id}"), "")
            .await;
    }

    /// Sets a TTL check: `status` is `pass`, `warn` or `fail`.
    pub async fn set_check(&self, check_id: &str, status: &str) {
        self.put(&format!("/v1/agent/check/{status}/{check_id}"), "")
            .await;
    }

    /// Writes a key.
    pub async fn kv_put(&self, key: &str, value: impl Into<reqwest::Body>) {
        self.put(&format!("/v1/kv/{key}"), value).await;
    }

    /// The value of a key, `None` without one.
    pub async fn kv_get(&self, key: &str) -> Option<Vec<u8>> {
        let path = format!("/v1/kv/{key}?raw");
        let (status, body) = self.try_send(Method::GET, &path, "").await;
        match status {
            StatusCode::NOT_FOUND => None,
            status if status.is_success() => Some(body),
            status => panic!("GET {path}: {status} {}", String::from_utf8_lossy(&body)),
        }
    }

    /// Removes a key.
    pub async fn kv_delete(&self, key: &str) {
        self.send(Method::DELETE, &format!("/v1/kv/{key}"), "")
            .await;
    }

    /// Joins the datacenter of this agent and that of the other one over WAN.
    pub async fn join_datacenter(&self, other: &Self) {
        let path = format!("/v1/agent/join/{}?wan=1", other.ports.wan_address());
        self.put(&path, "").await;
    }

    /// Writes to any other endpoint.
    pub async fn put(&self, path: &str, body: impl Into<reqwest::Body>) {
        self.send(Method::PUT, path, body).await;
    }

    /// Makes a token with these rules, in an agent that was started with [`access_control`].
    pub async fn make_token(&self, token: &str, rules: &str) {
        let path = format!("/v1/acl/policy?token={MANAGEMENT}");
        let policy = json!({"Name": token, "Rules": rules}).to_string();
        // A new cluster takes a moment before it knows its own first token.
        eventually(Duration::from_secs(30), async || {
            let (status, answer) = self.try_send(Method::PUT, &path, policy.clone()).await;
            let refused = || String::from_utf8_lossy(&answer).into_owned();
            status.is_success().then_some(()).ok_or_else(refused)
        })
        .await;
        let path = format!("/v1/acl/token?token={MANAGEMENT}");
        let token = json!({"SecretID": token, "Policies": [{"Name": token}]});
        self.put(&path, token.to_string()).await;
    }

    /// Returns all data of the cluster, for [`ConsulAgent::restore`].
    pub async fn snapshot(&self) -> Vec<u8> {
        self.send(Method::GET, "/v1/snapshot", "").await
    }

    /// Replaces the data of the cluster by earlier data, with the index of that time.
    pub async fn restore(&self, snapshot: Vec<u8>) {
        self.send(Method::PUT, "/v1/snapshot", snapshot).await;
    }

    /// Reads any other endpoint.
    pub async fn get(&self, path: &str) -> Value {
        let body = self.send(Method::GET, path, "").await;
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// Sends a document with POST and this token, and returns the answer.
    pub async fn ask_as(&self, token: &str, path: &str, document: &Value) -> Value {
        let path = format!("{path}?token={token}");
        let body = self.send(Method::POST, &path, document.to_string()).await;
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    async fn send(&self, method: Method, path: &str, body: impl Into<reqwest::Body>) -> Vec<u8> {
        let (status, answer) = self.try_send(method.clone(), path, body).await;
        assert!(
            status.is_success(),
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&answer)
        );
        answer
    }

    async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> (StatusCode, Vec<u8>) {
        let url = format!("http://{}{path}", self.address());
        let failed = |error| panic!("{method} {path}: {error}");
        let request = self.client.request(method.clone(), url).body(body);
        let answer = request.send().await.unwrap_or_else(failed);
        let status = answer.status();
        match answer.bytes().await {
            Ok(body) => (status, body.into()),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}
