//! The REST gateway: the API of Consul-Terraform-Sync, version `v1`, in front of the gRPC services.
//!
//! It follows docs/rest.md to the byte where clients can tell, and decides nothing: what exists, what
//! state it is in and what may change is asked of the scheduler with every request. It must not know a
//! store, Consul or Terraform, and it keeps no state between two requests but the scheduler's last word
//! on its replicas, for a second, and answers that are good until the scheduler names another version.
//!
//! Start with [`Gateway`], [`Options`] and [`Deps`]; inside, with `routes` (which request is what)
//! and `app` (who answers it).
#![warn(missing_docs)]

mod app;
mod ask;
mod bare;
mod body;
mod changes;
mod connection;
mod document;
mod duration_parse;
mod duration_text;
mod entrance;
mod etag;
mod headers;
mod health;
mod json;
mod leader;
mod legacy_family;
mod model;
mod new_family;
mod parameters;
mod percent;
mod problem;
mod query;
mod request_log;
mod routes;
mod run_mode;
mod runs;
mod schema;
mod server;
mod status_board;
mod streams;
mod task_request;
mod time_text;
mod timed_stream;
mod turns;
mod update_body;

pub use server::{Deps, Gateway, LocalTime, Mode, Options, RequestIds};
