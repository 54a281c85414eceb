//! The arguments of providers that are nested blocks, by the schemas of the providers (docs/terraform.md#maintf).
//!
//! Schemas are read after `init`, and only if a configuration leaves the form open. Forms are kept for each
//! lock file: in the task directory and, for tasks with the same lock file, in memory.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use cts_core::Chain;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::attempt::Attempt;
use crate::commands::outcome::{failed, must_succeed};
use crate::commands::terraform::Terraform;
use crate::data_files::{NO_LOCK, lock_digest};
use crate::directory::{create_secret, remove_if_present, write_if_different};
use crate::error::{CommandError, CommandFailure};
use crate::process::StdoutUse;
use crate::provider_schema::ProviderForms;
use crate::render::RootModule;
use crate::step::Step;

/// The file with the forms, in the task directory.
const FORMS_FILE: &str = ".cts-provider-forms.json";

/// The file into which Terraform writes the schemas, which can have many megabytes.
const SCHEMAS_FILE: &str = ".cts-provider-schemas.json";

/// Most lock files whose forms are kept in memory.
const KEPT: usize = 100;

/// The file in a task directory.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<F> {
    lock: String,
    forms: F,
}

impl Terraform {
    /// The root module with the forms that are known for the lock file in a task directory. Reads files only where the
    /// configuration leaves a form open.
    pub fn with_known_forms(&self, directory: &Path, root: RootModule) -> RootModule {
        if !root.has_open_forms() {
            return root;
        }
        let forms = self.known_forms(directory);
        forms
            .and_then(|forms| root.with_forms(&forms))
            .unwrap_or(root)
    }

    /// Forms that are known for the lock file in a task directory.
    fn known_forms(&self, directory: &Path) -> Option<Arc<ProviderForms>> {
        let lock = lock_digest(directory);
        let remembered = {
            let forms = self.forms.lock();
            forms.get(&lock).map(Arc::clone)
        };
        remembered.or_else(|| {
            let file = File::open(directory.join(FORMS_FILE)).ok()?;
            let kept: Kept<ProviderForms> = serde_json::from_reader(BufReader::new(file)).ok()?;
            (kept.lock == lock).then(|| self.remember_forms(lock, kept.forms))
        })
    }

    /// Renders the root module again, with the forms from the schemas of its providers; `None` if nothing changes. The
    /// directory must be initialised. If the schemas cannot be read, the forms stay open, as in the original
    /// (docs/terraform.md#maintf).
    pub(crate) async fn formed(
        &self,
        attempt: &Attempt,
        root: &RootModule,
    ) -> Result<Option<RootModule>, CommandError> {
        if !root.has_open_forms() {
            return Ok(None);
        }
        let directory = attempt.directory.path();
        let forms = match self.known_forms(directory) {
            Some(forms) => forms,
            None => match self.learn_forms(attempt).await {
                Ok(forms) => forms,
                Err(error) if error.is_interrupted() || error.has_left_processes() => {
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!(
                        task = %attempt.task,
                        error = %Chain(&error),
                        "the schemas of the providers cannot be read: arguments whose form the configuration leaves open are written as nested blocks"
                    );
                    return Ok(None);
                }
            },
        };
        let Some(formed) = root.with_forms(&forms) else {
            return Ok(None);
        };
        let written = attempt.directory.write_root(&formed);
        written.map_err(|error| failed(attempt, Step::Schemas, error))?;
        Ok(Some(formed))
    }

    async fn learn_forms(&self, attempt: &Attempt) -> Result<Arc<ProviderForms>, CommandError> {
        let directory = attempt.directory.path();
        let schemas = directory.join(SCHEMAS_FILE);
        let unwritten = |error| failed(attempt, Step::Schemas, error);
        Self::select_workspace(attempt)?;
        let file = create_secret(&schemas).map_err(unwritten)?;
        let ended = self.run(attempt, Step::Schemas, StdoutUse::File(file));
        let ended = ended
            .await
            .and_then(|ended| must_succeed(attempt, Step::Schemas, ended));
        let path = schemas.clone();
        let reading = spawn_blocking(move || ProviderForms::read(&path)).await;
        remove_if_present(&schemas).map_err(unwritten)?;
        ended?;
        let forms = reading
            .map_err(CommandFailure::Supervision)
            .and_then(|read| read.map_err(CommandFailure::Unreadable))
            .map_err(|failure| failed(attempt, Step::Schemas, failure))?;
        let lock = lock_digest(directory);
        let kept = Kept {
            lock: lock.clone(),
            forms: &forms,
        };
        let text = serde_json::to_string(&kept).map_err(CommandFailure::Unreadable);
        let text = text.map_err(|failure| failed(attempt, Step::Schemas, failure))?;
        write_if_different(&directory.join(FORMS_FILE), &text).map_err(unwritten)?;
        Ok(self.remember_forms(lock, forms))
    }

    fn remember_forms(&self, lock: String, forms: ProviderForms) -> Arc<ProviderForms> {
        let forms = Arc::new(forms);
        // Without a lock file the providers of two tasks may differ.
        if lock != NO_LOCK {
            let mut known = self.forms.lock();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(lock, Arc::clone(&forms));
        }
        forms
    }
}
