//! Client of the API of HCP Terraform, Terraform Enterprise and other servers that speak it
//! (docs/hcp-terraform.md).
//!
//! The crate knows nothing of tasks and runs of cts. Start with [`ServerSettings`] and [`Server::discover`];
//! every call is a method of [`Server`]. Errors are one type, [`ApiError`], whose variants are situations
//! that a caller decides on.
//!
//! **Requests.** Each request to the API waits for a permit of the [`Budget`] first. Requests to signed URLs
//! ([`SignedUrl`]) carry no token and need no permit.
//!
//! **Retries** (docs/hcp-terraform.md#retries). A limited request (429) was not carried out, and is repeated
//! after the time that the server names. After a lost connection and after a status from 500 on, only
//! requests that may be carried out twice are repeated. All others end with [`ApiError::OutcomeUnknown`].
//!
//! **Cancellation.** Every future may be dropped. Reads change nothing. A change whose future is dropped has
//! happened, or happens still, or does not happen: the state is that of [`ApiError::OutcomeUnknown`], and the
//! caller reads before it repeats. A dropped wait for a permit uses none.

mod budget;
mod call;
mod configuration_versions;
mod details;
mod discovery;
mod document;
mod error;
mod exchange;
mod logs;
mod organizations;
mod pages;
mod policies;
mod problem;
mod redirection;
mod request;
mod run;
mod run_events;
mod run_phase;
mod run_variable;
mod runs;
mod server;
mod settings;
mod signed_url;
mod state_versions;
mod tags;
mod transport;
mod variables;
mod verdict;
mod word;
mod workspaces;

pub use budget::{Budget, LocalBudget};
pub use call::Call;
pub use configuration_versions::{ConfigurationVersion, ConfigurationVersionAttributes};
pub use details::{Detail, RefusedCall};
pub use document::{Identifier, Related, Resource};
pub use error::{ApiError, SettingsError};
pub use logs::LogPiece;
pub use organizations::{AgentPool, AgentPoolAttributes};
pub use policies::PolicyResult;
pub use problem::{Failure, ProtocolProblem};
pub use run::{Run, RunActions, RunAttributes, RunRelations};
pub use run_phase::{Approval, RunEnd, RunPhase};
pub use run_variable::RunVariable;
pub use runs::NewRun;
pub use server::Server;
pub use settings::{Limits, ServerSettings};
pub use signed_url::SignedUrl;
pub use state_versions::{NewStateVersion, StateVersion, StateVersionAttributes};
pub use variables::{LONGEST_VALUE, Variable, VariableAttributes, VariableCategory, VariableDraft};
pub use word::Word;
pub use workspaces::{
    Permissions, Workspace, WorkspaceAttributes, WorkspaceDraft, WorkspaceRelations,
};
