//! The message of a webhook about an apply (docs/runs.md#webhooks).

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

/// Version of the message. A version only grows: members are added, none is removed or changes its type.
const VERSION: u32 = 1;

/// Names of services in a message, at most.
const MOST_SERVICES: usize = 1000;

/// A run whose apply has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedRun {
    /// Name of the task.
    pub task: String,
    /// Id of the run.
    pub run: String,
    /// Key of the delivery: equal for all attempts at one delivery, different for any other delivery.
    pub key: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Hash of the input.
    pub input: String,
    /// Names of the services in the input, sorted, each once.
    pub services: Vec<String>,
    /// When Terraform was done.
    pub at: DateTime<Utc>,
}

#[derive(Serialize)]
struct Message<'a> {
    version: u32,
    event: &'static str,
    webhook: &'a str,
    task: &'a str,
    run: &'a str,
    attempt: u32,
    time: String,
    input: &'a str,
    services: &'a [String],
    service_count: usize,
}

impl AppliedRun {
    /// The body of a request.
    pub(crate) fn message(&self, webhook: &str) -> Result<Vec<u8>, serde_json::Error> {
        let shown = self.services.len().min(MOST_SERVICES);
        serde_json::to_vec(&Message {
            version: VERSION,
            event: "task.applied",
            webhook,
            task: &self.task,
            run: &self.run,
            attempt: self.attempt,
            time: self.at.to_rfc3339_opts(SecondsFormat::Millis, true),
            input: &self.input,
            services: &self.services[..shown],
            service_count: self.services.len(),
        })
    }
}
