//! The place that had the state of a task before: a backend, or the workspace of an earlier task.

use std::sync::Arc;

use cts_core::TaskName;
use cts_core::state::StateRecord;
use cts_hcp_terraform::Server;
use cts_terraform::{
    Attempt, ChildEnvironment, Discard, EnvironmentSources, FoundState, StateOrigin,
};

use super::remote_attempt::RemoteAttempt;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::state_error::StateError;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::push::read_state;

/// Place of the state before.
pub(super) enum Origin {
    Backend(StateOrigin),
    /// The workspace of the task that had this name.
    Workspace(TaskName),
}

impl Origin {
    /// Kind and workspace, for messages.
    pub(super) fn named(&self) -> (String, TaskName) {
        match self {
            Self::Backend(origin) => (origin.backend.kind.clone(), origin.workspace.clone()),
            Self::Workspace(task) => (cts_core::REMOTE_DRIVER.to_owned(), task.clone()),
        }
    }
}

impl RemoteAttempt<'_> {
    /// The other place of the state: the workspace that a person has named, or the configured previous backend.
    pub(super) fn origin(&self, known: &StateRecord) -> Option<Origin> {
        if let Some(earlier) = &known.from {
            return Some(Origin::Workspace(earlier.clone()));
        }
        let options = &self.run.shared.options;
        let backend = options.previous_backend.clone()?;
        let task = self.task.clone();
        Some(Origin::Backend(options.origin(backend, task)))
    }

    /// The state at the other place, with its text.
    pub(super) async fn fetch(
        &self,
        server: &Server,
        origin: &Origin,
    ) -> Result<Option<(FoundState, Vec<u8>)>, AttemptError> {
        match origin {
            Origin::Workspace(task) => {
                let settings = &self.driver.settings;
                let name = settings.workspaces.name_of(task.as_str());
                let named = server.workspace_named(&settings.organization, &name).await;
                match named.map_err(RemoteError::from)? {
                    Some(workspace) => Ok(read_state(server, &workspace.id).await?),
                    None => Ok(None),
                }
            }
            Origin::Backend(origin) => self.fetch_from_backend(origin).await,
        }
    }

    /// Terraform reads the state out of a backend, in the directory of the task.
    async fn fetch_from_backend(
        &self,
        origin: &StateOrigin,
    ) -> Result<Option<(FoundState, Vec<u8>)>, AttemptError> {
        let Some(terraform) = &self.driver.terraform else {
            return Ok(None);
        };
        let options = &self.run.shared.options;
        let directory = self.directory.clone();
        directory.create()?;
        let sources = EnvironmentSources {
            inherited: &options.environment,
            tracing: &[],
            backend: &[],
            task_env: &[],
            lock_timeout: None,
            persist_log: false,
            worker: None,
        };
        let attempt = Attempt {
            task: self.task.clone(),
            environment: ChildEnvironment::new(sources, &self.task, &directory),
            directory,
            output: Arc::new(Discard),
            stop: self.order.clone(),
            timeouts: self.run.lease.timeouts.or(options.timeouts),
        };
        match terraform.fetch_state(&attempt, origin).await {
            Ok(None) => Ok(None),
            Ok(Some(fetched)) => {
                let text = fetched.text().map_err(RemoteError::StateFile)?;
                Ok(Some((fetched.found, text)))
            }
            Err(error) if error.is_interrupted() || error.has_left_processes() => Err(error.into()),
            Err(error) => Err(StateError::unreadable(&origin.backend, &error)?.into()),
        }
    }
}
