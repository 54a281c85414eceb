//! The check that makes a disabled task ready (docs/runs.md#disabled-tasks).

use serde::{Deserialize, Serialize};

use crate::engine::capability::Requirement;
use crate::words::digest::Digest;
use crate::words::identity::RunId;

/// The newest check of a disabled task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCheck {
    /// Identifies the checked input and engine: see [`TaskCheck::key`].
    pub key: Digest,
    /// The run.
    pub run: RunId,
    /// The outcome; `None` until the check has ended, and if it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CheckOutcome>,
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The task is ready.
    Passed,
    /// The check failed with this error.
    Failed(String),
}

impl TaskCheck {
    /// The key of a check by an engine with this input, which includes the declaration and the settings.
    pub fn key(input: Digest, engine: &Requirement) -> Digest {
        let version = engine.version.as_deref().unwrap_or_default();
        Digest::of(format!("{input}\n{}\n{version}", engine.driver).as_bytes())
    }

    /// The error, if the check failed.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            Some(CheckOutcome::Failed(error)) => Some(error),
            Some(CheckOutcome::Passed) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_differs_with_input_driver_and_version() {
        let engine = |driver: &str, version: Option<&str>| Requirement {
            driver: driver.to_owned(),
            version: version.map(str::to_owned),
            ..Requirement::default()
        };
        let [one, other] = ["1", "2"].map(|text| Digest::of(text.as_bytes()));
        let terraform = engine("terraform", None);
        let key = TaskCheck::key(one, &terraform);
        assert_eq!(key, TaskCheck::key(one, &terraform));
        for (input, engine) in [
            (other, terraform),
            (one, engine("tofu", None)),
            (one, engine("terraform", Some("1.9.8"))),
        ] {
            assert_ne!(TaskCheck::key(input, &engine), key);
        }
    }

    #[test]
    fn the_stored_form_is_small_and_can_be_read() {
        let mut check = TaskCheck {
            key: Digest::of(b""),
            run: RunId::from_uuid(uuid::Uuid::nil()),
            outcome: None,
        };
        for outcome in [
            None,
            Some(CheckOutcome::Passed),
            Some(CheckOutcome::Failed("no".to_owned())),
        ] {
            check.outcome = outcome;
            let text = serde_json::to_string(&check).unwrap();
            assert_eq!(serde_json::from_str::<TaskCheck>(&text).unwrap(), check);
            assert_eq!(text.contains("outcome"), check.outcome.is_some());
        }
        assert_eq!(check.error(), Some("no"));
    }
}
