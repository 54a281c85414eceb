//! Reasons why a run cannot continue with the state of its task, or has not destroyed it.

use aho_corasick::BuildError;
use cts_core::{Backend, Chain};
use cts_rpc::CallFailure;
use cts_terraform::CommandError;
use tonic::Status;

use super::mismatch::Mismatch;
use crate::redaction::Redactor;
use crate::values::texts_of;

/// The reason why a run cannot continue with its state.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// The state may not be the task's, or a plan came before its move.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// The previous place of the state cannot be read. Its credentials are not in the text.
    #[error("the state cannot be read from its old backend {kind:?}: {text}")]
    Unreadable { kind: String, text: String },
    /// No scheduler has recorded the change of the state.
    #[error(
        "the move of the state cannot be recorded, so nothing is moved: {}",
        CallFailure(.0)
    )]
    Unrecorded(Status),
}

impl StateError {
    /// Whether no further attempt, at any worker, may verify the state again: the state was refused, and an operator
    /// decides.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Mismatch(mismatch) if mismatch.refusal.is_some())
    }

    /// The error of a command about the previous place of a state. Its text may have credentials of that place.
    pub(crate) fn unreadable(backend: &Backend, error: &CommandError) -> Result<Self, BuildError> {
        let mut credentials = Vec::new();
        for credential in backend.credentials() {
            texts_of(credential, &mut credentials);
        }
        let text = Chain(error).to_string();
        Ok(Self::Unreadable {
            kind: backend.kind.clone(),
            text: Redactor::new(credentials)?.redact(&text).into_owned(),
        })
    }
}

/// Terraform has destroyed the resources in the state that it found, but the task had further resources.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undestroyed {
    /// The state is not the state of the task.
    #[error(
        "{found} in backend {backend:?}, workspace {workspace}, so what the task has made is still there. `cts task \
         delete -retain {workspace}` deletes the task and leaves it"
    )]
    Elsewhere {
        found: &'static str,
        backend: String,
        workspace: String,
    },
    /// Resources are left in the state.
    #[error("{0} resources are left in the state although Terraform has not failed")]
    Left(u64),
}
