//! Questions to the REST API.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use cts_testkit::eventually;
use reqwest::{Client, Method};
use serde_json::Value;

use crate::DEADLINE;

/// The API of one instance.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
    address: SocketAddr,
}

impl Api {
    /// The API at `address`, whether it has a listener or not.
    pub fn new(address: SocketAddr) -> Self {
        let client = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(10))
            .build();
        Self {
            client: client.unwrap(),
            address,
        }
    }

    /// Address on which the API listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Status code and body.
    pub async fn ask(&self, path: &str) -> Result<(u16, Value), reqwest::Error> {
        let answer = self.client.get(self.url(path)).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// Names of the tasks whose runs wait for a decision now, and the fingerprint of their effects; without names and
    /// with the answer in its place if no scheduler answers.
    pub async fn waiting_tasks(&self) -> (BTreeSet<String>, String) {
        let list = match self.ask("/v1/approvals").await {
            Ok((200, list)) => list,
            other => return (BTreeSet::new(), format!("{other:?}")),
        };
        let approvals = list["approvals"].as_array().unwrap().iter();
        let waiting = approvals.filter(|it| it["state"] == "waiting");
        let names = waiting.map(|it| it["task_name"].as_str().unwrap().to_owned());
        (names.collect(), list["set"].as_str().unwrap().to_owned())
    }

    /// Sends a request with this body; returns status code and body, `null` where the answer has no JSON.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self
            .client
            .request(method, self.url(path))
            .timeout(DEADLINE);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json().await.unwrap_or_default(),
        )
    }

    /// The body of an answer with status 200.
    pub async fn get(&self, path: &str) -> Value {
        match self.ask(path).await {
            Ok((200, body)) => body,
            Ok((status, body)) => panic!("GET {path}: {status} {body}"),
            Err(error) => panic!("GET {path}: {error}"),
        }
    }

    /// Status of a task, events included.
    pub async fn task_status(&self, task: &str) -> Value {
        let path = format!("/v1/status/tasks/{task}?include=events");
        self.get(&path).await[task].take()
    }

    /// Whether a task is enabled.
    pub async fn is_enabled(&self, task: &str) -> bool {
        self.task_status(task).await["enabled"] == true
    }

    /// Events of a task, newest first.
    pub async fn events(&self, task: &str) -> Vec<Value> {
        events_of(self.task_status(task).await)
    }

    /// Waits until the task has this number of events, and returns them. Waits first for the task to exist, and for
    /// schedulers that give no answer in time on a busy machine.
    pub async fn wait_for_events(&self, task: &str, count: usize) -> Vec<Value> {
        eventually(DEADLINE, async || {
            let path = format!("/v1/status/tasks/{task}?include=events");
            let events = match self.ask(&path).await {
                Ok((200, mut body)) => events_of(body[task].take()),
                Ok((404, _)) => return Err(format!("{task} is not there")),
                Ok((503, body)) => return Err(format!("GET {path}: {body}")),
                Ok((status, body)) => panic!("GET {path}: {status} {body}"),
                Err(error) => panic!("GET {path}: {error}"),
            };
            if events.len() >= count {
                Ok(events)
            } else {
                Err(format!("{task} has {} of {count} events", events.len()))
            }
        })
        .await
    }
}

/// Asserts that all these events are of runs that succeeded.
#[track_caller]
pub fn assert_successful(events: &[Value]) {
    let successful = events.iter().all(|event| event["success"] == true);
    assert!(successful, "{events:?}");
}

fn events_of(mut status: Value) -> Vec<Value> {
    match status["events"].take() {
        Value::Array(events) => events,
        _ => Vec::new(),
    }
}
