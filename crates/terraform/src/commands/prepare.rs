//! Initialisation, and when it can be left out.

use std::fs;
use std::path::PathBuf;

use crate::attempt::Attempt;
use crate::commands::outcome::failed;
use crate::commands::shared_init::SharedInit;
use crate::commands::terraform::Terraform;
use crate::commands::torn::is_torn;
use crate::data_files::{FINGERPRINT_FILE, lock_digest};
use crate::directory::{remove_if_present, write_if_different};
use crate::error::CommandError;
use crate::render::RootModule;
use crate::step::Step;

/// The steps that [`Terraform::prepare`] had to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    /// The directory was already initialised for this root module: no process was started.
    Reused,
    /// The directory got a copy of the results of `init` for another task of the same shape.
    Shared,
    /// `init` ran, `validate` was left out: the same shape had been found valid before.
    Initialised,
    /// `init` and `validate` ran.
    Validated,
}

impl Terraform {
    /// Makes the directory ready for `plan` and `apply`: `init`, workspace, `validate`. The files of `root`
    /// must have been written.
    ///
    /// All steps are left out while their inputs are unchanged: `main.tf`, the declared variables, the content of a
    /// local module, the version of Terraform, the lock file. `init` is left out if it has just run for another task of
    /// the same shape. `validate` is left out if a root module that differs only in the task's name and description,
    /// with the same known module content, was valid before.
    ///
    /// If the form of a provider's arguments is open, the schema of the provider decides after `init`, and
    /// `main.tf` is written again.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`]; an interrupted preparation starts from the beginning next time.
    pub async fn prepare(
        &self,
        attempt: &Attempt,
        root: &RootModule,
    ) -> Result<Preparation, CommandError> {
        let fingerprint = root.init_fingerprint.to_string();
        let known = fs::read_to_string(fingerprint_file(attempt)).unwrap_or_default();
        if is_current(&known, &fingerprint, attempt) && !is_torn(attempt) {
            Self::select_workspace(attempt)?;
            Self::write_outputs(attempt, root.outputs.as_ref()).await?;
            return Ok(Preparation::Reused);
        }

        Self::forget_initialisation(attempt)?;
        let shape = SharedInit::shape(attempt, root);
        let mut _lock = None;
        let mut taken_over = false;
        if let Some(shape) = shape {
            // Kept until this directory can be a source itself.
            _lock = self.shared_init.lock(shape, attempt).await;
            taken_over = self.shared_init.take_over(shape, attempt).await;
        }
        if !taken_over {
            self.init_root(attempt, root).await?;
        }
        Self::select_workspace(attempt)?;
        Self::write_outputs(attempt, root.outputs.as_ref()).await?;
        let formed = self.formed(attempt, root).await?;
        let root = formed.as_ref().unwrap_or(root);
        let known_valid = root
            .validation_shape
            .is_some_and(|shape| self.is_known_valid(shape));
        if !known_valid {
            self.validate(attempt).await?;
            if let Some(shape) = root.validation_shape {
                self.remember_valid(shape);
            }
        }
        let record = format!("{fingerprint} {}", lock_digest(attempt.directory.path()));
        write_if_different(&fingerprint_file(attempt), &record)
            .map_err(|error| failed(attempt, Step::Init, error))?;
        Ok(if taken_over {
            Preparation::Shared
        } else {
            if let Some(shape) = shape {
                self.shared_init.offer(shape, attempt).await;
            }
            if known_valid {
                Preparation::Initialised
            } else {
                Preparation::Validated
            }
        })
    }

    /// Makes the next [`Terraform::prepare`] of this directory run `init` again.
    pub fn forget_initialisation(attempt: &Attempt) -> Result<(), CommandError> {
        remove_if_present(&fingerprint_file(attempt))
            .map_err(|error| failed(attempt, Step::Init, error))
    }
}

/// Whether the record of the last initialisation matches.
fn is_current(record: &str, fingerprint: &str, attempt: &Attempt) -> bool {
    let known = record.split_once(' ');
    known.is_some_and(|(known, lock)| {
        known == fingerprint && lock == lock_digest(attempt.directory.path())
    })
}

fn fingerprint_file(attempt: &Attempt) -> PathBuf {
    attempt.data_directory().join(FINGERPRINT_FILE)
}
