//! Provider `panos` with `auto_commit`: commits the changes of Terraform
//! (docs/terraform.md#commits-of-panos).

mod answer;
mod session;
mod settings;

use std::collections::BTreeMap;

use cts_core::ProviderBlock;
use secrecy::SecretString;
use serde_json::Value;

pub use answer::AnswerError;
pub use session::PanosError;
pub use settings::SettingError;

use crate::pace::Pace;
use session::{Commit, Session};
use settings::Settings;

/// Name of the provider.
pub(crate) const PANOS: &str = "panos";

/// Tries after a failed one.
const RETRIES: u32 = 4;

#[derive(Debug)]
pub(crate) struct Panos {
    task: String,
    session: Session,
}

impl Panos {
    /// Whether changes made through this block are to be committed.
    pub(crate) fn is_wanted(block: &ProviderBlock) -> bool {
        block.arguments.get("auto_commit") == Some(&Value::Bool(true))
    }

    /// Reads `json_config_file`, blocking.
    pub(crate) fn new(
        task: &str,
        block: &ProviderBlock,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, SettingError> {
        let settings = Settings::read(&block.arguments, environment)?;
        Ok(Self {
            task: task.to_owned(),
            session: Session::new(settings)?,
        })
    }

    /// The password and the key.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        self.session.secrets()
    }

    /// Commits the changes of the administrator, and waits until they have taken effect.
    pub(crate) async fn commit(&self, pace: Pace) -> Result<(), PanosError> {
        let on_retry = |error: &PanosError| {
            tracing::warn!(
                target: "handler.panos",
                task_name = self.task,
                error = self.session.hidden(&cts_core::Chain(error).to_string()),
                "a commit has failed and is tried again"
            );
        };
        let commit = || self.session.commit(pace.poll);
        let committed = pace.retry(RETRIES, PanosError::is_passing, on_retry, commit);
        self.log(committed.await?);
        Ok(())
    }

    fn log(&self, committed: Commit) {
        match committed {
            Commit::Done { job } => {
                tracing::info!(target: "handler.panos", task_name = self.task, job, "commit successful");
            }
            Commit::Nothing => {
                tracing::info!(target: "handler.panos", task_name = self.task, "nothing to commit");
            }
        }
    }
}
