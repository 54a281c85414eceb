//! SIGHUP: the parts of a running service that are read again (docs/cli.md#signals).

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use cts_config::{Config, ConfigError, Loaded, dump_json};
use cts_core::{Chain, Verdict};
use cts_rpc::{ClientTls, ServerTls, TlsError};
use cts_scheduler::FileTasks;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::first_lines::log_problems;
use crate::services::settings::{Shape, declared};

/// Keys that are needed to make or run tasks. If one of these keys has changed, tasks of the file may need settings
/// that this process does not have yet.
const TASKS_NEED: [&str; 6] = [
    "consul",
    "driver",
    "module_roots",
    "terraform_provider",
    "vault",
    "webhook",
];

const TASKS: &str = "tasks";

/// The parts of a service that can be read again. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reloads(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: Notify,
    /// Unset until the service runs.
    parts: OnceLock<Parts>,
}

/// The parts of one service.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Certificates of servers, each with the block that names its files.
    pub(crate) servers: Vec<(&'static str, ServerTls)>,
    /// The certificate that is shown to other services.
    pub(crate) client: Option<ClientTls>,
    /// The tasks of the files, and the brake of the fleet, where a scheduler is.
    pub(crate) tasks: Option<(FileTasks, Shape)>,
}

impl Parts {
    /// Adds the certificate of the API, if it has TLS.
    pub(crate) fn with_api(mut self, tls: Option<&ServerTls>) -> Self {
        self.servers.extend(tls.map(|tls| ("tls", tls.clone())));
        self
    }
}

impl Reloads {
    /// Makes the parts known, as the service runs now.
    pub(crate) fn serve(&self, parts: Parts) {
        // A service begins once.
        drop(self.0.parts.set(parts));
    }

    /// Requests that everything is read again. Requests during a reload are merged.
    pub(crate) fn request(&self) {
        self.0.requested.notify_one();
    }

    /// Carries the requests out for ever. `settings` are those that the process has begun with.
    pub(crate) async fn follow(
        &self,
        settings: &Value,
        read: impl Fn() -> Result<Loaded, ConfigError> + Clone + Send + 'static,
    ) -> Infallible {
        loop {
            self.0.requested.notified().await;
            let Some(parts) = self.0.parts.get() else {
                tracing::warn!(target: "cli", signal = "hangup", "nothing is reloaded, the service has not begun yet");
                continue;
            };
            let mut outcome = Outcome::default();
            outcome.reload_certificates(parts).await;
            match spawn_blocking(read.clone()).await {
                Ok(Ok(loaded)) => outcome.compare(parts, settings, loaded).await,
                Ok(Err(error)) => outcome.refuse(&error),
                Err(error) => outcome.fail(TASKS, &error),
            }
            outcome.log();
        }
    }
}

/// Parts that were reloaded, and parts that were not.
#[derive(Debug, Default)]
struct Outcome {
    reloaded: BTreeSet<String>,
    unchanged: BTreeSet<String>,
    not_reloaded: BTreeSet<String>,
    failed: bool,
}

impl Outcome {
    async fn reload_certificates(&mut self, parts: &Parts) {
        for (block, tls) in &parts.servers {
            self.note(block, tls.reload().await);
        }
        if let Some(tls) = &parts.client {
            self.note("services.tls", tls.reload().await);
        }
    }

    fn note(&mut self, block: &str, read: Result<bool, TlsError>) {
        match read {
            Err(error) => self.fail(&format!("files of {block}"), &error),
            Ok(changed) => {
                let list = if changed {
                    &mut self.reloaded
                } else {
                    &mut self.unchanged
                };
                list.insert(format!("files of {block}"));
            }
        }
    }

    fn fail(&mut self, part: &str, error: &(dyn std::error::Error + 'static)) {
        self.failed = true;
        self.not_reloaded
            .insert(format!("{part}: {}", Chain(error)));
    }

    /// The files cannot be used.
    fn refuse(&mut self, error: &ConfigError) {
        let (ConfigError::Problems(found) | ConfigError::NothingFound(found)) = error;
        log_problems(found);
        self.fail("configuration", error);
    }

    /// Registers the tasks of the files, and names the keys that only a restart changes.
    async fn compare(&mut self, parts: &Parts, settings: &Value, loaded: Loaded) {
        log_problems(&loaded.all_warnings());
        let mut config = loaded.config;
        let changed = differences(settings, &settings_of(&mut config));
        if let Some((files, shape)) = &parts.tasks {
            let needed = changed
                .iter()
                .find(|key| TASKS_NEED.contains(&key.as_str()));
            match needed {
                Some(key) => {
                    let text = format!("{TASKS}: `{key}` has changed, too");
                    self.not_reloaded.insert(text);
                }
                None => self.register(files, &config, *shape).await,
            }
        }
        let restart = |key: String| format!("`{key}`: needs a restart");
        self.not_reloaded.extend(changed.into_iter().map(restart));
    }

    async fn register(&mut self, files: &FileTasks, config: &Config, shape: Shape) {
        let tasks = declared(config, shape).0;
        let with = (config.fleet_max_shrink, config.approvals);
        match files.register(&tasks, with).await {
            Ok(None) => {
                self.unchanged.insert(TASKS.to_owned());
            }
            Ok(Some(registered)) if registered.verdict == Verdict::TakesEffect => {
                let text = format!("{TASKS}: configuration {} is in force", registered.number);
                self.reloaded.insert(text);
            }
            Ok(Some(_)) => {
                let text = format!("{TASKS}: they take effect when all members have the same");
                self.not_reloaded.insert(text);
            }
            Err(error) => self.fail(TASKS, &error),
        }
    }

    fn log(&self) {
        let [reloaded, unchanged, not_reloaded] =
            [&self.reloaded, &self.unchanged, &self.not_reloaded].map(|parts| {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                (!parts.is_empty()).then(|| parts.join("; "))
            });
        let (reloaded, unchanged) = (reloaded.as_deref(), unchanged.as_deref());
        let not_reloaded = not_reloaded.as_deref();
        if self.failed {
            tracing::warn!(target: "cli", signal = "hangup", reloaded, unchanged, not_reloaded, "files were read again");
        } else {
            tracing::info!(target: "cli", signal = "hangup", reloaded, unchanged, not_reloaded, "files were read again");
        }
    }
}

/// Everything but what a scheduler registers, to be compared. Secrets are covered, so that a change of a secret alone is
/// not seen.
pub(crate) fn settings_of(config: &mut Config) -> Value {
    let tasks = std::mem::take(&mut config.tasks);
    let brake = config.fleet_max_shrink.take();
    let approvals = std::mem::take(&mut config.approvals);
    let settings = dump_json(config);
    (config.tasks, config.fleet_max_shrink) = (tasks, brake);
    config.approvals = approvals;
    settings
}

/// The keys at the top whose values differ.
fn differences(before: &Value, now: &Value) -> BTreeSet<String> {
    let keys = [before, now].into_iter().filter_map(Value::as_object);
    let keys = keys.flat_map(serde_json::Map::keys);
    keys.filter(|key| before.get(key.as_str()) != now.get(key.as_str()))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_differ_are_named_whoever_has_them() {
        let before = json!({"port": 1, "driver": {"terraform": {"log": true}}, "webhook": {}});
        let now = json!({"port": 1, "driver": {"terraform": {"log": false}}, "tls": {}});
        let names: Vec<String> = differences(&before, &now).into_iter().collect();
        assert_eq!(names, ["driver", "tls", "webhook"]);
        assert!(differences(&now, &now).is_empty());
    }
}
