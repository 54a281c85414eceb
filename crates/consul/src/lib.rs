//! Consul over HTTP: the endpoints that cts uses, and the loop that follows an endpoint by blocking queries
//! (docs/runs.md#views-and-blocking-queries).
//!
//! The crate has no tasks, subscribers or gRPC: it yields Consul's data, reduced to the data that a module can see, and
//! errors.
//!
//! Start with [`ConsulSettings`] and [`ConsulClient`]; [`QueryPool`] follows any number
//! of queries, [`poll`] one. [`keep_registered`]
//! makes the program itself known there. [`Right`] and `inspection.rs` are for `cts doctor`.

mod address;
mod answer;
mod catalog;
mod client;
mod error;
mod follow;
mod health;
mod http2_pool;
mod inspection;
mod kv;
mod leader;
mod query;
mod quiet_waits;
mod recovery;
mod refused_keys;
mod registration;
mod rights;
mod settings;
mod transport;
mod wait_limit;

pub use address::is_plain_over_network;
pub use client::{Answer, ConsulClient};
pub use error::{ConsulError, SettingsError};
pub use follow::poll::{MAX_RETRY_DELAY, MIN_REQUEST_INTERVAL, poll};
pub use follow::poll_event::PollEvent;
pub use follow::query_pool::{QueryPool, Usage as QueryPoolUsage};
pub use follow::read_requests::ReadRequests;
pub use health::UnreadableInstance;
pub use inspection::{AgentSummary, Authorization, OwnToken};
pub use query::Query;
pub use refused_keys::{REFUSED_KEY_REMEDY, refused_key, refuses_key};
pub use registration::{DEREGISTRATION_LIMIT, REGISTRATION_LOOK, Registration, keep_registered};
pub use rights::{Resource, Right, Scope, rights_of};
pub use settings::{ConsulSettings, TlsSettings};
