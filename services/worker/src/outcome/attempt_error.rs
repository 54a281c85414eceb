//! Reasons why an attempt fails.

use std::error::Error;
use std::io;
use std::time::Duration;

use cts_bundle::{EnsureError, InvalidModulePath};
use cts_consul::REFUSED_KEY_REMEDY;
use cts_core::runs::can_be_of_machine;
use cts_core::{Chain, ErrorCode, LostLease};
use cts_handlers::{HandlersError, PrepareError};
use cts_rpc::ConversionError;
use cts_terraform::{CommandError, CommandFailure, FileError, OrphanError, RenderError};
use tokio::task::JoinError;
use tonic::Status;

use super::not_permitted::NotPermitted;
use super::state_error::{StateError, Undestroyed};
use crate::calls::inputs::InputError;
use crate::leased_run::wait_error::WaitError;
use crate::remote_driver::RemoteError;
use crate::values::ValueError;

/// Longest time to fetch and unpack a module, by this run or by another run that needs the same module.
pub(crate) const PLACE_MODULE: Duration = Duration::from_mins(10);

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error("the scheduler wants something that this worker does not know")]
    Kind(#[from] ConversionError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the module cannot be had")]
    Bundle(#[from] EnsureError<Status>),
    #[error("the module could not be fetched and unpacked within {} s", PLACE_MODULE.as_secs())]
    SlowBundle,
    #[error("the module cannot be used")]
    ModulePath(#[from] InvalidModulePath),
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("the secrets of the run are too much to be kept out of its output")]
    Secrets(#[from] aho_corasick::BuildError),
    #[error("the root module cannot be rendered")]
    Render(#[from] RenderError),
    #[error("the root module cannot be rendered")]
    Rendering(#[from] JoinError),
    #[error("the task directory cannot be written")]
    File(#[from] FileError),
    #[error("an earlier Terraform is still at work in the task directory")]
    Orphan(#[from] OrphanError),
    #[error("stopped before or after Terraform was at work")]
    Stopped,
    #[error(transparent)]
    Terraform(#[from] CommandError),
    #[error(
        "{error}\nThe lock was left by worker {}, which lost the task at {}; nothing of it is alive. With \
         `release_lost_locks = true` in the driver block cts releases such locks",
        lease.worker,
        lease.lost_at.format("%F %T UTC")
    )]
    OwnLock {
        error: CommandError,
        lease: LostLease,
    },
    #[error("{error}\n{refused}; {REFUSED_KEY_REMEDY}")]
    RefusedKey {
        error: CommandError,
        /// The refusal, with the version of Consul.
        refused: String,
    },
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Undestroyed(#[from] Undestroyed),
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error("the handlers of the task cannot be made")]
    Handlers(#[from] PrepareError),
    #[error("the handlers of the task cannot be made")]
    Preparing(#[source] JoinError),
    #[error(transparent)]
    Handler(#[from] HandlersError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl AttemptError {
    /// The code (docs/runbook.md#error-codes).
    pub(crate) const fn code(&self) -> ErrorCode {
        match self {
            Self::Kind(_) => ErrorCode::RunNotUnderstood,
            Self::Input(_) => ErrorCode::InputMissing,
            Self::Bundle(_) | Self::SlowBundle | Self::ModulePath(_) => ErrorCode::ModuleUnusable,
            Self::Value(_) => ErrorCode::ValueUnreadable,
            Self::Secrets(_) | Self::Render(_) | Self::Rendering(_) | Self::File(_) => {
                ErrorCode::TaskFilesUnusable
            }
            Self::Orphan(_) => ErrorCode::TerraformLeftBehind,
            Self::Stopped => ErrorCode::RunStopped,
            Self::Terraform(_) | Self::RefusedKey { .. } => ErrorCode::TerraformFailed,
            Self::OwnLock { .. } => ErrorCode::StateLocked,
            Self::State(_) => ErrorCode::StateRefused,
            Self::Undestroyed(_) => ErrorCode::DestructionIncomplete,
            Self::NotPermitted(_) | Self::Wait(_) => ErrorCode::WaitEnded,
            Self::Handlers(_) | Self::Preparing(_) | Self::Handler(_) => ErrorCode::HandlerFailed,
            Self::Remote(_) => ErrorCode::RemoteRunFailed,
        }
    }

    /// Whether the machine of this worker may be the cause, if the attempt failed before Terraform started; `None` if
    /// the attempt failed later.
    pub(crate) fn machine_suspected(&self) -> Option<bool> {
        match self {
            Self::Kind(_)
            | Self::Input(_)
            | Self::Bundle(_)
            | Self::SlowBundle
            | Self::ModulePath(_)
            | Self::Value(_)
            | Self::Secrets(_)
            | Self::Render(_)
            | Self::Rendering(_)
            | Self::File(_)
            | Self::Orphan(_)
            | Self::Handlers(_)
            | Self::Preparing(_)
            | Self::Remote(RemoteError::Archive(_)) => Some(has_suspicious_cause(self)),
            Self::Terraform(error) | Self::OwnLock { error, .. } => match &error.failure {
                // The engine was not started.
                CommandFailure::Run { .. } => Some(true),
                CommandFailure::File(_) => Some(has_suspicious_cause(&error.failure)),
                _ => None,
            },
            Self::Stopped
            | Self::RefusedKey { .. }
            | Self::State(_)
            | Self::Undestroyed(_)
            | Self::NotPermitted(_)
            | Self::Wait(_)
            | Self::Handler(_)
            | Self::Remote(_) => None,
        }
    }

    /// The error with its causes. An error in a template of the task begins with the words of the original.
    pub(crate) fn text_for(&self, task: &str) -> String {
        let text = Chain(self);
        let failed = match self {
            Self::Render(_) | Self::Rendering(_) | Self::Remote(RemoteError::Render(_)) => {
                "rendering template"
            }
            Self::Value(error) | Self::Remote(RemoteError::Token(error)) => {
                if error.is_of_source() {
                    "fetching template dependencies"
                } else {
                    "rendering template"
                }
            }
            _ => return text.to_string(),
        };
        format!("error {failed} for task {task}: {text}")
    }
}

/// Whether an error has a cause from the operating system that may be the fault of the machine.
fn has_suspicious_cause(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(can_be_of_machine)
    })
}
