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
#![warn(missing_docs)]

mod agent_pools;
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
mod ping;
mod plans;
mod policies;
mod problem;
mod redirection;
mod request;
mod run;
mod run_events;
mod run_phase;
mod run_status;
mod run_variable;
mod runs;
mod server;
mod settings;
mod signed_url;
mod state_versions;
mod tags;
mod text_enum;
mod transport;
mod variables;
mod verdict;
mod workspace_attributes;
mod workspaces;

pub use agent_pools::AgentPool;
pub use budget::{Budget, LocalBudget, Unlimited};
pub use call::Call;
pub use configuration_versions::{
    ConfigurationVersion, ConfigurationVersionStatus, NewConfigurationVersion,
};
pub use details::{Detail, Refusal};
pub use error::{ApiError, SettingsError};
pub use logs::LogPiece;
pub use organizations::Entitlements;
pub use ping::{Ping, Product};
pub use plans::{Apply, Plan, StageStatus};
pub use policies::PolicyResult;
pub use problem::{Failure, ProtocolProblem};
pub use run::{Run, RunActions, RunPermissions};
pub use run_phase::{Approval, RunEnd, RunPhase};
pub use run_status::RunStatus;
pub use run_variable::RunVariable;
pub use runs::NewRun;
pub use server::Server;
pub use settings::{Limits, ServerSettings};
pub use signed_url::SignedUrl;
pub use state_versions::{NewStateVersion, StateVersion};
pub use variables::{
    LONGEST_DESCRIPTION, LONGEST_KEY, LONGEST_VALUE, Variable, VariableCategory, VariableDraft,
};
pub use workspace_attributes::{ExecutionMode, Permissions, Workspace};
pub use workspaces::WorkspaceDraft;
