//! Initialisation, and knowing when it can be left out.

use std::fs;
use std::path::PathBuf;

use crate::attempt::Attempt;
use crate::command::Step;
use crate::directory::{remove_if_present, write_if_different};
use crate::error::{CommandError, FileError};
use crate::render::RootModule;
use crate::terraform::{Terraform, failed};

/// Where Terraform keeps the name of the chosen workspace, inside its data directory.
const WORKSPACE_FILE: &str = "environment";

/// Says for which root module the data directory was initialised. It lies beside what `init`
/// brought, so deleting that deletes this too.
const FINGERPRINT_FILE: &str = "cts-initialised";

/// What [`Terraform::prepare`] had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    /// The directory was already initialised for this root module: no process was started.
    Reused,
    /// `init` ran, `validate` was left out: the same shape had been found valid before.
    Initialised,
    /// `init` and `validate` ran.
    Validated,
}

impl Terraform {
    /// Makes the directory ready for `plan` and `apply`: `init`, workspace, `validate`. The files of
    /// `root` must have been written.
    ///
    /// All of it is left out while nothing has changed that `init` depends on: `main.tf`, the
    /// declared variables, the content of a local module, the version of Terraform. `validate` alone
    /// is left out when a root module that differs only in the task's name and description, with the
    /// same known module content, was valid before.
    ///
    /// # Cancellation
    /// As for [`Terraform::apply`]; an interrupted preparation starts from the beginning next time.
    pub async fn prepare(
        &self,
        attempt: &Attempt,
        root: &RootModule,
    ) -> Result<Preparation, CommandError> {
        let fingerprint = root.init_fingerprint.to_string();
        let known = fs::read(fingerprint_file(attempt));
        if known.is_ok_and(|known| known == fingerprint.as_bytes()) {
            Self::select_workspace(attempt)?;
            return Ok(Preparation::Reused);
        }

        Self::forget_initialisation(attempt)?;
        self.init(attempt, root.backend_credentials.as_ref())
            .await?;
        Self::select_workspace(attempt)?;
        let known_valid = root
            .validation_shape
            .is_some_and(|shape| self.is_known_valid(shape));
        if !known_valid {
            self.validate(attempt).await?;
            if let Some(shape) = root.validation_shape {
                self.remember_valid(shape);
            }
        }
        write_if_different(&fingerprint_file(attempt), &fingerprint)
            .map_err(|error| failed(attempt, Step::Init, error))?;
        Ok(if known_valid {
            Preparation::Initialised
        } else {
            Preparation::Validated
        })
    }

    /// Makes the next [`Terraform::prepare`] of this directory run `init` again.
    pub fn forget_initialisation(attempt: &Attempt) -> Result<(), CommandError> {
        remove_if_present(&fingerprint_file(attempt))
            .map_err(|error| failed(attempt, Step::Init, error))
    }
}

fn fingerprint_file(attempt: &Attempt) -> PathBuf {
    attempt.data_directory().join(FINGERPRINT_FILE)
}

pub(crate) fn workspace_file(attempt: &Attempt) -> PathBuf {
    attempt.data_directory().join(WORKSPACE_FILE)
}

pub(crate) fn forget_workspace(attempt: &Attempt) -> Result<(), FileError> {
    remove_if_present(&workspace_file(attempt))
}
