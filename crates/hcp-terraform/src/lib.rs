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
mod details;
mod discovery;
mod document;
mod error;
mod exchange;
mod pages;
mod problem;
mod redirection;
mod request;
mod resources;
mod server;
mod settings;
mod signed_url;
mod transport;
mod verdict;
mod word;

pub use budget::{Budget, LocalBudget};
pub use call::Call;
pub use details::{Detail, RefusedCall};
pub use document::{Identifier, Related, Resource};
pub use error::{ApiError, SettingsError};
pub use problem::{Failure, ProtocolProblem};
pub use resources::configuration_versions::{ConfigurationVersion, ConfigurationVersionAttributes};
pub use resources::logs::LogPiece;
pub use resources::organizations::{AgentPool, AgentPoolAttributes};
pub use resources::policies::PolicyResult;
pub use resources::run::{Run, RunActions, RunAttributes, RunRelations};
pub use resources::run_phase::{Approval, RunEnd, RunPhase};
pub use resources::run_variable::RunVariable;
pub use resources::runs::NewRun;
pub use resources::state_versions::{NewStateVersion, StateVersion, StateVersionAttributes};
pub use resources::variables::{
    LONGEST_VALUE, Variable, VariableAttributes, VariableCategory, VariableDraft,
};
pub use resources::workspaces::{
    Permissions, Workspace, WorkspaceAttributes, WorkspaceDraft, WorkspaceRelations,
};
pub use server::Server;
pub use settings::{Limits, ServerSettings};
pub use signed_url::SignedUrl;
pub use word::Word;
