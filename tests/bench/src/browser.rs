//! A real Chromium, led through its driver.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_testkit::{Chromedriver, chromium_arguments, chromium_path};
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest time of a command; scripts and loads are far shorter.
const LONGEST: Duration = Duration::from_mins(1);

/// A browser with a fresh profile and one tab. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Browser {
    client: Client,
    /// Address of its session at the driver.
    session: String,
    _driver: Chromedriver,
    _profile: TempDir,
}

impl Browser {
    pub(crate) async fn start() -> Result<Self> {
        let profile = TempDir::new().context("no directory for a profile")?;
        let mut arguments = chromium_arguments(profile.path());
        arguments.push("--window-size=1280,800".to_owned());
        let driver = Chromedriver::start().await;
        let mut browser = Self {
            client: Client::builder().no_proxy().timeout(LONGEST).build()?,
            session: format!("{}/session", driver.address()),
            _driver: driver,
            _profile: profile,
        };
        let options = json!({"binary": chromium_path(), "args": arguments});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options});
        let wanted = json!({"capabilities": {"alwaysMatch": wanted}});
        let session = browser.post("", wanted).await?;
        let id = session["sessionId"].as_str().context("no session")?;
        browser.session = format!("{}/{id}", browser.session);
        Ok(browser)
    }

    /// Opens an address, and returns once it is loaded.
    pub(crate) async fn go(&self, address: &str) -> Result<()> {
        self.post("/url", json!({"url": address})).await.map(drop)
    }

    /// Runs the body of a function in the page, and returns its value.
    pub(crate) async fn run(&self, script: &str) -> Result<Value> {
        let call = json!({"script": script, "args": []});
        self.post("/execute/sync", call).await
    }

    /// A command of the protocol `DevTools`.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        let call = json!({"cmd": command, "params": parameters});
        let answer = self.post("/goog/cdp/execute", call).await;
        answer.with_context(|| format!("{command} fails"))
    }

    /// Ends the browser as its user would.
    pub(crate) async fn end(self) -> Result<()> {
        let ended = self.client.delete(&self.session).send().await;
        ended.context("the browser does not end").map(drop)
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value> {
        let address = format!("{}{path}", self.session);
        let answer = self.client.post(address).json(&body).send().await?;
        let is_success = answer.status().is_success();
        let mut answer: Value = answer.json().await?;
        let value = answer["value"].take();
        ensure!(is_success, "the browser refuses: {}", value["message"]);
        Ok(value)
    }
}
