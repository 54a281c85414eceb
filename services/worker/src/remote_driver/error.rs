//! Reasons why a remote run does not begin, or fails.

use cts_core::Chain;
use cts_hcp_terraform::ApiError;
use cts_rpc::CallFailure;
use cts_terraform::{MissingOutput, RenderError};
use tokio::task::JoinError;
use tonic::Status;

use super::archive::ArchiveError;
use super::other_workspace::OtherWorkspace;
use super::placement::PlacementError;
use super::rules::WorkspaceRefusal;
use super::settings::RemoteSettingsError;
use super::version::UnsupportedVersion;
use crate::values::ValueError;

/// Why an attempt at a remote run fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Settings(#[from] RemoteSettingsError),
    #[error(transparent)]
    Token(#[from] ValueError),
    #[error("{place}: {refusal}")]
    Workspace {
        place: String,
        refusal: WorkspaceRefusal,
    },
    #[error("{place}: {version}")]
    Version {
        place: String,
        version: UnsupportedVersion,
    },
    #[error(
        "{place}: the server refuses settings, among them Terraform {version}; `terraform_version` in `terraform_cloud_workspace` names another version"
    )]
    RefusedVersion {
        place: String,
        /// The version, and the version that it was to replace.
        version: String,
        #[source]
        error: Box<ApiError>,
    },
    #[error(
        "the organization {organization:?} does not exist, or the token has no right to manage its workspaces"
    )]
    Organization { organization: String },
    #[error(
        "{place} exists, but the token cannot see it: give its team the right to manage all workspaces, or this one"
    )]
    Hidden { place: String },
    #[error("the organization {organization:?} has no agent pool {name:?}")]
    NoPool { name: String, organization: String },
    #[error("the root module cannot be rendered")]
    Render(#[from] RenderError),
    #[error(transparent)]
    Output(#[from] Box<MissingOutput>),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("the module's path {} is not valid UTF-8, which Terraform needs", .0.display())]
    ModulePath(std::path::PathBuf),
    #[error("the archive cannot be packed")]
    Packing(#[from] JoinError),
    #[error("the server cannot use the uploaded configuration{}", described(.message.as_deref()))]
    Configuration { message: Option<String> },
    #[error("the server has not taken the uploaded configuration after {} s", .0.as_secs())]
    SlowConfiguration(std::time::Duration),
    #[error(
        "{error}\nThe token may not move the state into the workspace {workspace}. Give its team the rights to lock the workspace and to write states; or move it by hand: `terraform state pull` where it is now, `terraform state push` into the workspace, then `cts task state {task} -keep=new`"
    )]
    Unmovable {
        task: String,
        workspace: String,
        error: Box<Self>,
    },
    #[error("the state that was read cannot be kept")]
    StateFile(#[source] std::io::Error),
    #[error("the state in the workspace cannot be read")]
    State(#[from] serde_json::Error),
    #[error("the remote run cannot be recorded: {}", CallFailure(.0))]
    Record(Box<Status>),
    #[error("error tf-{step} for '{task}': the remote run is {status}: {url}{}", below(.detail))]
    Ended {
        /// `plan` or `apply`, as in errors of runs on a worker.
        step: &'static str,
        task: String,
        status: String,
        url: String,
        detail: String,
    },
    #[error(
        "an earlier remote run is on a server or in an organization that is not the configured one any more, and is neither followed nor ended: {url}\nLook there whether it has ended, and run the task again"
    )]
    Elsewhere { url: String },
    /// Something other than cts has ended the remote run.
    #[error("cancelled: the remote run was {status} on the server{}: {url}", by(.person.as_deref()))]
    Decided {
        status: String,
        person: Option<String>,
        url: String,
    },
    #[error("the remote run {id} is not there any more: {url}")]
    Gone { id: String, url: String },
    #[error(transparent)]
    OtherWorkspace(Box<OtherWorkspace>),
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(
        "the server ignores the values that travel with a run, so the plan would show the values of the last apply. The remote run was ended: {url}"
    )]
    IgnoredValues { url: String },
}

impl RemoteError {
    /// Whether the server is unavailable for now, so that the same attempt can continue later.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_transient())
    }

    /// Whether the server may have carried out the request: the attempt begins again, and first checks the server.
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self, Self::Api(ApiError::OutcomeUnknown { .. }))
    }

    /// Whether the run has no further attempt: the remote run was made and has failed, or an operator has to check the
    /// place that the task has left.
    pub(crate) const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Ended { .. }
                | Self::Elsewhere { .. }
                | Self::Decided { .. }
                | Self::OtherWorkspace(_)
                | Self::Placement(_)
                | Self::IgnoredValues { .. }
        )
    }

    /// Whether a user decided on the server that the run is not applied.
    pub(crate) const fn is_decision(&self) -> bool {
        matches!(self, Self::Decided { .. })
    }

    /// Whether the token lacks a right. Servers hide that there is something, too.
    pub(crate) const fn is_forbidden(&self) -> bool {
        matches!(
            self,
            Self::Api(ApiError::Forbidden(_) | ApiError::NotFound(_))
        )
    }

    /// Whether the object no longer exists.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Api(ApiError::NotFound(_)))
    }

    /// Whether the server does not accept the token.
    pub(crate) const fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Api(ApiError::Unauthorized(_)))
    }
}

impl From<Status> for RemoteError {
    fn from(status: Status) -> Self {
        Self::Record(Box::new(status))
    }
}

fn described(message: Option<&str>) -> String {
    message.map_or_else(String::new, |message| format!(": {message}"))
}

fn by(person: Option<&str>) -> String {
    person.map_or_else(String::new, |person| format!(" by {person}"))
}

fn below(detail: &str) -> String {
    if detail.is_empty() {
        String::new()
    } else {
        format!("\n{detail}")
    }
}

pub(crate) fn text(error: &RemoteError) -> String {
    Chain(error).to_string()
}
