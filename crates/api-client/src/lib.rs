//! Client of the REST API of cts: one method for each call of the command line, typed answers, and errors that can be displayed
//! (docs/rest.md, docs/cli.md#options-of-all-of-them).
//!
//! The crate is independent of command lines, prompts and output, and reads neither environment nor clock: a
//! caller's options go in as [`ClientOptions`] and the environment as a map, and [`ClientSettings::resolve`]
//! makes settings of them. Start there and with [`ApiClient`].

mod address;
mod alert;
mod approvals;
mod audit;
mod call;
mod client;
mod error;
mod model;
mod overview;
mod redirects;
mod runs;
mod settings;
mod tasks;
mod tls;
mod token;

pub use address::AddressError;
pub use audit::AuditQuery;
pub use client::ApiClient;
pub use cts_proto::run::v1::Cause;
pub use error::{CallError, ErrorForm, ErrorResponse, SetupError};
pub use model::{
    Approval, Approvals, AuditRecord, Brake, BufferPeriod, ClusterConfiguration, CreatedTask,
    CurrentState, Event, EventError, Explanation, Hold, InspectedTask, Inspection, KnownState,
    NeededConsent, Overview, Replaced, Run, RunPage, Sent, StateDecision, Task, TaskPage, TaskPlan,
    TaskStatus, Times,
};
pub use runs::{FollowedLog, NDJSON, RunQuery};
pub use settings::{ClientOptions, ClientSettings, SettingsWarning, TlsSettings, token_source};
pub use token::{Token, TokenError, TokenSource};
