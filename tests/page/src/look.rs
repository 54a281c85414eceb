//! The settings of a browser.

use std::path::Path;

use cts_testkit::{chromium_arguments, chromium_path};
use serde_json::{Map, Value, json};
use thirtyfour::{Capabilities, ChromiumLikeCapabilities as _, DesiredCapabilities};

use crate::visit::{log, profile};

/// Name under which a browser finds this machine.
const HOST: &str = "cts.test";

/// How a person uses the browser.
#[derive(Debug, Clone)]
pub struct Look {
    /// Whether the person prefers dark colours.
    pub dark: bool,
    /// Width of the page in CSS pixels.
    pub width: u32,
    /// Height of the visible part of the page in CSS pixels.
    pub height: u32,
    /// Whether pages may run scripts.
    pub scripts: bool,
    /// SHA-256 of the public key of a server that the browser trusts, in base64; it stands in for an authority.
    pub trusted_key: Option<String>,
    /// Whether the browser shows the certificate of its person to each server that asks for one.
    pub shows_certificate: bool,
    /// Origin of the issuer that a login leads to.
    pub issuer: Option<String>,
    /// Script that runs in each tab before those of a page; empty without one.
    pub first_script: &'static str,
}

impl Default for Look {
    /// Light, 1280 × 800, with scripts, without TLS and without an issuer.
    fn default() -> Self {
        Self {
            dark: false,
            width: 1280,
            height: 800,
            scripts: true,
            trusted_key: None,
            shows_certificate: false,
            issuer: None,
            first_script: "",
        }
    }
}

impl Look {
    /// Light, without scripts.
    pub fn without_scripts() -> Self {
        Self {
            scripts: false,
            ..Self::default()
        }
    }

    pub(crate) fn capabilities(&self, directory: &Path) -> Capabilities {
        let mut arguments = chromium_arguments(&profile(directory));
        arguments.push(format!(
            "--host-resolver-rules=MAP {HOST} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
        ));
        arguments.push(format!("--log-net-log={}", log(directory).display()));
        if let Some(key) = &self.trusted_key {
            arguments.push(format!("--ignore-certificate-errors-spki-list={key}"));
        }
        let mut capabilities = DesiredCapabilities::chromium();
        for argument in &arguments {
            capabilities.add_arg(argument).unwrap();
        }
        let binary = chromium_path();
        capabilities.set_binary(binary.to_str().unwrap()).unwrap();
        let mut preferences = Map::new();
        if !self.scripts {
            const BLOCKED: u8 = 2;
            let name = "profile.managed_default_content_settings.javascript";
            preferences.insert(name.to_owned(), BLOCKED.into());
        }
        if self.shows_certificate {
            let anywhere = json!({"pattern": "https://*", "filter": {}}).to_string();
            let name = "profile.managed_auto_select_certificate_for_urls";
            preferences.insert(name.to_owned(), json!([anywhere]));
        }
        capabilities
            .add_experimental_option("prefs", preferences)
            .unwrap();
        let mut capabilities = Capabilities::from(capabilities);
        capabilities
            .set("goog:loggingPrefs", json!({"browser": "ALL"}))
            .unwrap();
        // The driver of Debian knows its browser by this name.
        capabilities
            .set("browserName", Value::from("chrome"))
            .unwrap();
        capabilities
    }
}
