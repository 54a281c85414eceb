//! A running system with tasks, and the requests of programs to it.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Instance, RECORDER, Site, met};
use reqwest::{Client, Method, Response};
use serde_json::Value;

/// A module for any number of tasks, which keeps its input.
pub(crate) const MODULE: &str = "./modules/recorder";

/// Requests need a credential. Browsers may use the name `cts.test`.
pub(crate) const REQUIRED: &str =
    "security {\n  require_auth = true\n  hosts = [\"cts.test\"]\n}\n";

/// Consul with an instance `web-1` of `web`, and `cts start` at a site. Its parts end in the order of the members.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) instance: Instance,
    pub(crate) site: Site,
    pub(crate) consul: ConsulAgent,
    client: Client,
}

impl Scene {
    /// Starts at a site that has the modules, with these blocks in the configuration.
    pub(crate) async fn start(site: Site, blocks: &str) -> Self {
        let consul = ConsulAgent::start().await;
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        site.write("modules/recorder/main.tf", RECORDER);
        site.configure(&consul.address(), Backend::Shared, blocks);
        Self {
            instance: Instance::start_embedded(&site).await,
            site,
            consul,
            client: client(),
        }
    }

    /// Starts like [`Self::start`], and requires a credential of each caller.
    pub(crate) async fn secured(site: Site, tasks: &str) -> Self {
        Self::start(site, &format!("{REQUIRED}{tasks}")).await
    }

    /// The origin of the page, for a browser on the same machine.
    pub(crate) fn origin(&self) -> String {
        self.instance.api.url("")
    }

    /// Registers an instance of a service, which makes the tasks run that watch it.
    pub(crate) async fn register(&self, service: &str, id: &str) {
        self.consul.register_service(service, id, 1, &[], &[]).await;
    }

    /// The output of a command of `cts` with the configuration of the system. The command must succeed.
    pub(crate) async fn command(&self, words: &[&str]) -> String {
        let words = [words, &["-config-file=cts.hcl"]].concat();
        // Each command has a log of its own.
        let log = format!("command-{}.log", words.join("-").replace('/', "-"));
        let command = self.site.run("cts", &words, &log);
        command.wait().await.assert_code(0).output.clone()
    }

    /// A new token of this role, which the gateway knows already.
    pub(crate) async fn token(&self, name: &str, role: &str) -> String {
        let output = self
            .command(&["token", "create", name, "-role", role])
            .await;
        let token = token_in(&output);
        eventually(DEADLINE, async || {
            let bearer = ("authorization", &*format!("Bearer {token}"));
            let status = self.ask("/v1/status", bearer).await.status();
            met(status == 200, status.to_string())
        })
        .await;
        token
    }

    /// The answer to a request with this header.
    pub(crate) async fn ask(&self, path: &str, (name, value): (&str, &str)) -> Response {
        let request = self.client.get(self.instance.api.url(path));
        request.header(name, value).send().await.unwrap()
    }

    /// The answer to a request with this token, which must succeed.
    pub(crate) async fn get(&self, token: &str, path: &str) -> Value {
        let request = self
            .client
            .get(self.instance.api.url(path))
            .bearer_auth(token);
        let answer = request.send().await.unwrap();
        assert!(answer.status() == 200, "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// Sends a change with this token, which must succeed.
    pub(crate) async fn send(&self, token: &str, method: Method, path: &str, body: &Value) {
        let request = self.client.request(method, self.instance.api.url(path));
        let answer = request.bearer_auth(token).json(body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
    }

    /// The effect of a task that waits, once its fingerprint is not `known`. Without authentication the token does
    /// not count.
    pub(crate) async fn waiting(&self, token: &str, task: &str, known: &str) -> Value {
        let path = format!("/v1/approvals?task={task}");
        eventually(DEADLINE, async || {
            let list = self.get(token, &path).await;
            let mut all = list["approvals"].as_array().unwrap().iter();
            let found = all.find(|it| it["state"] == "waiting" && it["effect"] != known);
            found.cloned().ok_or_else(|| list.clone())
        })
        .await
    }
}

/// The token that a command has made, among its messages.
pub(crate) fn token_in(output: &str) -> String {
    let token = output.lines().find(|line| line.starts_with("cts_"));
    token.unwrap().to_owned()
}

/// A client for single requests.
pub(crate) fn client() -> Client {
    let builder = Client::builder().no_proxy().timeout(DEADLINE);
    builder.build().unwrap()
}

/// A member of an object that is a text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap()
}
