//! The traces of a browser that was closed: its requests, and the files of its profile.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// A request that no page and no script has caused: an address that was typed, or a request of the browser itself.
const NO_INITIATOR: &str = "not an origin";

/// One request of a browser, as its own log has it. Requests of workers are there, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Method.
    pub method: String,
    /// Whole address.
    pub url: String,
    /// Origin of the page that caused it.
    pub initiator: Option<String>,
    /// Its beginning in milliseconds, counted from an unknown time.
    pub begun: u64,
    /// Its end likewise; the greatest number if it ended with the browser.
    pub ended: u64,
}

/// What a browser has left behind.
#[derive(Debug)]
pub struct Visit {
    /// All requests to the origin of the page, and all that its pages and workers caused.
    pub requests: Vec<Sent>,
    origin: String,
    directory: TempDir,
}

/// Path of the profile, and of all else that the browser writes.
pub(crate) fn profile(directory: &Path) -> PathBuf {
    directory.join("profile")
}

/// File to which a browser writes its requests.
pub(crate) fn log(directory: &Path) -> PathBuf {
    directory.join("requests.json")
}

impl Visit {
    pub(crate) fn read(directory: TempDir, origin: &str) -> Self {
        let log = std::fs::read(log(directory.path())).unwrap();
        let log: Value = serde_json::from_slice(&log).unwrap();
        let mut requests = requests(&log);
        requests.retain(|sent| is_at(&sent.url, origin) || sent.is_from(origin));
        Self {
            requests,
            origin: origin.to_owned(),
            directory,
        }
    }

    /// Asserts that the page stayed at its own origin, but for logins at the issuer, and used nothing of the REST API.
    pub(crate) fn assert_inside(&self, issuer: Option<&str>) {
        let api = format!("{}/v1", self.origin);
        for sent in &self.requests {
            let is_login = issuer.is_some_and(|issuer| is_at(&sent.url, issuer));
            assert!(
                is_login || is_at(&sent.url, &self.origin),
                "left the origin: {sent:?}"
            );
            assert!(!sent.url.starts_with(&api), "called the API: {sent:?}");
        }
    }

    /// Requests whose path below the origin begins with this text.
    pub fn to(&self, path: &str) -> Vec<&Sent> {
        let address = format!("{}{path}", self.origin);
        let requests = self.requests.iter();
        requests
            .filter(|sent| sent.url.starts_with(&address))
            .collect()
    }

    /// Highest number of such requests that were open at the same time for more than a second.
    pub fn most_at_once(&self, path: &str) -> usize {
        const SECOND: u64 = 1000;
        let all = self.to(path);
        let open_from = |time: u64| {
            let open = all
                .iter()
                .filter(|sent| sent.begun <= time && time + SECOND < sent.ended);
            open.count()
        };
        let counts = all.iter().map(|sent| open_from(sent.begun));
        counts.max().unwrap_or_default()
    }

    /// Names of the files with this text of letters, digits and `_`: the history, open tabs, cookies, the cache, the
    /// log of requests and everything else. Files of Chromium have texts as UTF-8 or as UTF-16.
    pub async fn files_with(&self, text: &str) -> Vec<String> {
        let wide: Vec<String> = text.chars().map(|c| format!("{c}\\x00")).collect();
        let output = Command::new("grep")
            .args([
                "--recursive",
                "--files-with-matches",
                "--text",
                "--perl-regexp",
            ])
            .arg(format!("{text}|{}", wide.concat()))
            .arg(self.directory.path())
            .env("LC_ALL", "C")
            .output()
            .await
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.is_empty(), "{complaint}");
        let names = String::from_utf8(output.stdout).unwrap();
        names.lines().map(str::to_owned).collect()
    }
}

impl Sent {
    fn is_from(&self, origin: &str) -> bool {
        let initiator = self.initiator.as_deref();
        initiator.is_some_and(|initiator| is_at(initiator, origin))
    }
}

/// Whether an address is one of this origin.
fn is_at(address: &str, origin: &str) -> bool {
    let rest = address.strip_prefix(origin);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The requests in a log of Chromium. A redirect is a further request.
fn requests(log: &Value) -> Vec<Sent> {
    let constants = &log["constants"];
    let number = |kind: &str, name: &str| constants[kind][name].as_u64().unwrap();
    let (started, alive) = (
        number("logEventTypes", "URL_REQUEST_START_JOB"),
        number("logEventTypes", "REQUEST_ALIVE"),
    );
    let (begin, end) = (
        number("logEventPhase", "PHASE_BEGIN"),
        number("logEventPhase", "PHASE_END"),
    );
    let events = log["events"].as_array().unwrap();
    let time = |event: &Value| event["time"].as_str().unwrap().parse::<u64>().unwrap();
    let mut ends = HashMap::new();
    for event in events {
        if event["type"] == alive && event["phase"] == end {
            ends.insert(event["source"]["id"].as_u64(), time(event));
        }
    }
    let begins = events
        .iter()
        .filter(|event| event["type"] == started && event["phase"] == begin);
    begins
        .map(|event| {
            let parameters = &event["params"];
            let text = |name: &str| parameters[name].as_str().unwrap_or_default().to_owned();
            let initiator = text("initiator");
            Sent {
                method: text("method"),
                url: text("url"),
                initiator: (initiator != NO_INITIATOR).then_some(initiator),
                begun: time(event),
                ended: ends
                    .get(&event["source"]["id"].as_u64())
                    .copied()
                    .unwrap_or(u64::MAX),
            }
        })
        .collect()
}
