//! The REST API of cts, from the side of those who ask: one method per call, typed answers, and errors
//! that can be shown to a person (docs/rest.md, docs/cli.md#options-of-all-of-them).
//!
//! It knows nothing of command lines, prompts or output, and reads neither environment nor clock: what
//! a caller was given goes in as [`ClientOptions`] and the environment as a map, and
//! [`ClientSettings::resolve`] makes settings of them. Start there and with [`ApiClient`].
#![warn(missing_docs)]

mod address;
mod call;
mod client;
mod error;
mod model;
mod runs;
mod settings;
mod tls;

pub use address::AddressError;
pub use client::ApiClient;
pub use error::{CallError, ErrorForm, Refusal, SetupError};
pub use model::{
    BufferPeriod, CreatedTask, Diagnostic, Event, EventError, Health, Hold, InspectedTask,
    Inspection, KnownState, Loss, OverallStatus, Queue, ResourceChange, ResourceCounts, Run,
    RunDetails, RunOutput, RunPage, StateConflict, StateDecision, StateIdentity, StatePlace, Task,
    TaskCounts, TaskPlan, TaskStatus, WaitingRuns,
};
pub use runs::{FollowedLog, LogLine, LogPart, RunQuery};
pub use settings::{ClientOptions, ClientSettings, SettingsWarning, TlsSettings};
