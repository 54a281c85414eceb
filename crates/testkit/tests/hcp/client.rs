//! A client that sends rows of a table and compares the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_testkit::HcpServer;
use cts_testkit::hcp::{HcpSettings, Phase};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use crate::table::{Row, difference, rows};

pub(crate) const DEADLINE: Duration = Duration::from_mins(1);
pub(crate) const JSON_API: &str = "application/vnd.api+json";

/// The text with kept identifiers in place of their names.
pub(crate) fn filled(kept: &BTreeMap<String, String>, text: &str) -> String {
    let fill =
        |text: String, (name, id): (&String, &String)| text.replace(&format!("{{{name}}}"), id);
    kept.iter().fold(text.to_owned(), fill)
}

pub(crate) struct Session {
    pub(crate) server: HcpServer,
    pub(crate) client: Client,
    pub(crate) kept: BTreeMap<String, String>,
}

impl Session {
    pub(crate) async fn start(settings: HcpSettings) -> Self {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(DEADLINE)
            .build()
            .unwrap();
        Self {
            server: HcpServer::start(settings).await,
            client,
            kept: BTreeMap::new(),
        }
    }

    /// A server with the workspace `web` (`{ws}`) that has a configuration version (`{cv}`).
    pub(crate) async fn with_workspace(settings: HcpSettings, attributes: Value) -> Self {
        let mut session = Self::start(settings).await;
        session.server.create_workspace("web", attributes);
        let id = session.server.workspace("web")["id"].clone();
        session.keep("ws", id.as_str().unwrap());
        session.upload(&[("main.tf", "")]);
        session
    }

    /// Uploads these files as the new `{cv}`.
    pub(crate) fn upload(&mut self, files: &[(&str, &str)]) {
        let uploaded = self.server.upload_configuration("web", files);
        self.keep("cv", &uploaded);
    }

    pub(crate) fn keep(&mut self, name: &str, id: &str) {
        self.kept.insert(name.to_owned(), id.to_owned());
    }

    fn filled(&self, text: &str) -> String {
        filled(&self.kept, text)
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let base = self.server.api_address();
        let url = format!("{}{}", base.trim_end_matches('/'), self.filled(path));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client
            .request(method, url)
            .bearer_auth(self.server.token())
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> reqwest::Result<Response> {
        let mut request = self.request(method, path);
        if !body.is_null() {
            let text = self.filled(&body.to_string());
            request = request.header("Content-Type", JSON_API).body(text);
        }
        request.send().await
    }

    /// Sends a row's request and returns its answer, null without a body.
    pub(crate) async fn call(&mut self, row: &Row) -> Value {
        let place = format!("{} {}", row.method, row.path);
        let answer = self.send(&row.method, &row.path, &row.body).await.unwrap();
        let found = answer.status().as_u16();
        let content = answer.bytes().await.unwrap();
        let answer: Value = serde_json::from_slice(&content).unwrap_or_default();
        assert_eq!(found, row.status, "{place}: {answer:#}");
        let expected: Value =
            serde_json::from_str(&self.filled(&row.expected.to_string())).unwrap();
        if let Some(text) = difference(&expected, &answer, "").filter(|_| !expected.is_null()) {
            panic!("{place}: {text} in {answer:#}");
        }
        if !row.keep.is_empty() {
            self.keep(&row.keep, answer["data"]["id"].as_str().unwrap());
        }
        answer
    }

    /// Sends the requests of a table ([`rows`]), and returns the last answer.
    pub(crate) async fn table(&mut self, text: &str) -> Value {
        let mut last = Value::Null;
        for row in rows(text) {
            last = self.call(&row).await;
        }
        last
    }

    /// Waits until the newest run of `web` has a status, and returns its identifier.
    pub(crate) async fn reached(&self, phase: Phase) -> String {
        self.server.reached("web", phase, DEADLINE).await
    }

    /// Waits until the newest run of `web` waits for a confirmation, and returns its identifier.
    pub(crate) async fn confirmable(&self) -> String {
        self.server.confirmable("web", DEADLINE).await
    }

    /// Content of a signed address.
    pub(crate) async fn content(&self, address: &str) -> (u16, Vec<u8>) {
        let answer = self.client.get(address).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.bytes().await.unwrap().to_vec())
    }
}
