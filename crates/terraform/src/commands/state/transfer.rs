//! The commands that read and write states.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{FoundState, parse};
use super::origin::StateOrigin;
use crate::attempt::Attempt;
use crate::commands::outcome::{failed, must_succeed};
use crate::commands::terraform::Terraform;
use crate::data_files::forget_workspace;
use crate::directory::{TaskDirectory, create_secret, write_secret};
use crate::error::{CommandError, CommandFailure, FileError};
use crate::output::Discard;
use crate::process::StdoutUse;
use crate::scratch::{Purpose, ScratchDirectory};
use crate::step::Step;

const ROOT_MODULE: &str = "main.tf.json";
const STATE: &str = "pulled.tfstate";

/// A state that was pulled. Its file is removed when this is dropped.
#[derive(Debug)]
#[must_use = "the state is forgotten when it is dropped"]
pub struct FetchedState {
    pub found: FoundState,
    file: PathBuf,
    _directory: ScratchDirectory,
}

impl FetchedState {
    /// Keeps a state that did not come from a backend, to be pushed to the backend of the attempt's task.
    pub fn keep(attempt: &Attempt, text: &[u8]) -> Result<Option<Self>, CommandError> {
        let unwritten = |error| failed(attempt, Step::PullState, error);
        let parsed = parse(text);
        let parsed = parsed
            .map_err(|error| failed(attempt, Step::PullState, CommandFailure::Unreadable(error)));
        let Some(found) = parsed? else {
            return Ok(None);
        };
        let directory =
            ScratchDirectory::new(attempt.directory.path(), Purpose::Fetch).map_err(unwritten)?;
        let file = directory.path().join(STATE);
        write_secret(&file, text).map_err(unwritten)?;
        Ok(Some(Self {
            found,
            file,
            _directory: directory,
        }))
    }

    /// The whole state. Reads a file.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.file)
    }
}

impl Terraform {
    /// The state of the attempt's task in the backend for which its directory is initialised.
    ///
    /// A missing workspace is not created by that. The output of the attempt contains nothing of the state.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`]. The command changes nothing, even if it is interrupted.
    pub async fn pull_state(&self, attempt: &Attempt) -> Result<Option<FoundState>, CommandError> {
        if self.has_workspace(attempt).await? {
            self.pull_applied_state(attempt).await
        } else {
            Ok(None)
        }
    }

    /// Like [`Terraform::pull_state`], after a command that has named the workspace, so that the workspace exists.
    ///
    /// # Cancellation
    /// Like [`Terraform::pull_state`].
    pub async fn pull_applied_state(
        &self,
        attempt: &Attempt,
    ) -> Result<Option<FoundState>, CommandError> {
        let directory = ScratchDirectory::new(attempt.directory.path(), Purpose::Look)
            .map_err(|error| failed(attempt, Step::PullState, error))?;
        let file = directory.path().join(STATE);
        self.pull_into(attempt, &file).await
    }

    /// The state in another backend, to be pushed to the backend of the attempt's task. Terraform pulls it in
    /// a separate directory, whose `init` needs no providers. The other backend is not changed by that.
    ///
    /// # Cancellation
    /// Like [`Terraform::pull_state`].
    pub async fn fetch_state(
        &self,
        attempt: &Attempt,
        origin: &StateOrigin,
    ) -> Result<Option<FetchedState>, CommandError> {
        let unwritten = |error| failed(attempt, Step::PullState, error);
        let directory =
            ScratchDirectory::new(attempt.directory.path(), Purpose::Fetch).map_err(unwritten)?;
        let root_module = origin.root_module(attempt.directory.path());
        write_secret(&directory.path().join(ROOT_MODULE), root_module).map_err(unwritten)?;
        let there = Attempt {
            task: origin.workspace.clone(),
            directory: TaskDirectory::new(directory.path(), attempt.directory.path()),
            environment: attempt.environment.elsewhere(&origin.environment),
            output: Arc::new(Discard),
            ..attempt.clone()
        };
        let fetched = async {
            let ended = self.run(&there, Step::Init, StdoutUse::Captured).await?;
            must_succeed(&there, Step::Init, ended)?;
            let file = directory.path().join(STATE);
            let found = if self.has_workspace(&there).await? {
                self.pull_into(&there, &file).await?
            } else {
                None
            };
            Ok((found, file))
        };
        let (found, file) = fetched.await.map_err(|error: CommandError| CommandError {
            task: attempt.task.clone(),
            ..error
        })?;
        Ok(found.map(|found| FetchedState {
            found,
            file,
            _directory: directory,
        }))
    }

    /// Writes a state to the place of the attempt's task, under Terraform's own lock. Without `force` Terraform refuses
    /// to replace a state of another lineage, or a later state, unless that state is empty.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`].
    pub async fn push_state(
        &self,
        attempt: &Attempt,
        fetched: &FetchedState,
        force: bool,
    ) -> Result<(), CommandError> {
        Self::select_workspace(attempt)?;
        let mut arguments = self.arguments(Step::PushState);
        if force {
            arguments.push("-force".to_owned());
        }
        arguments.push(fetched.file.to_string_lossy().into_owned());
        let quiet = quiet(attempt);
        let ended = self.run_holding(
            &quiet,
            Step::PushState,
            arguments,
            StdoutUse::Captured,
            None,
        );
        must_succeed(attempt, Step::PushState, ended.await?).map(drop)
    }

    /// Whether the workspace of the attempt's task exists.
    async fn has_workspace(&self, attempt: &Attempt) -> Result<bool, CommandError> {
        let attempt = &quiet(attempt);
        // The chosen workspace may be missing, and many backends create a workspace when it is named.
        forget_workspace(attempt).map_err(|error| failed(attempt, Step::Workspaces, error))?;
        let ended = self
            .run(attempt, Step::Workspaces, StdoutUse::Captured)
            .await?;
        let ended = must_succeed(attempt, Step::Workspaces, ended)?;
        Ok(lists(&ended.stdout, attempt.task.as_str()))
    }

    async fn pull_into(
        &self,
        attempt: &Attempt,
        file: &Path,
    ) -> Result<Option<FoundState>, CommandError> {
        let attempt = &quiet(attempt);
        let unwritten = |error| failed(attempt, Step::PullState, error);
        Self::select_workspace(attempt)?;
        let stdout = StdoutUse::File(create_secret(file).map_err(unwritten)?);
        let ended = self.run(attempt, Step::PullState, stdout).await?;
        must_succeed(attempt, Step::PullState, ended)?;
        let text = fs::read(file).map_err(|error| unwritten(FileError::of("read", file)(error)))?;
        parse(&text)
            .map_err(|error| failed(attempt, Step::PullState, CommandFailure::Unreadable(error)))
    }
}

/// This attempt without output: reading a state is not part of the run, and the output has a state in it.
fn quiet(attempt: &Attempt) -> Attempt {
    Attempt {
        output: Arc::new(Discard),
        ..attempt.clone()
    }
}

/// Whether the output of `workspace list` has this workspace: each workspace has its own line, with a star before the
/// chosen workspace.
fn lists(workspaces: &str, name: &str) -> bool {
    let lines = workspaces.lines();
    let mut names = lines.map(|line| line.trim_start_matches(['*', ' ']).trim_end());
    names.any(|workspace| workspace == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_found_by_their_whole_name() {
        let listed = "* default\n  edge-2\n  edge\n\n";
        assert!(lists(listed, "edge") && lists(listed, "default") && lists(listed, "edge-2"));
        assert!(!lists(listed, "edg") && !lists("", "edge"));
    }
}
