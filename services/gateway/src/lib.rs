//! The REST gateway: the API of Consul-Terraform-Sync, version `v1`, in front of the gRPC services.
//!
//! It follows docs/rest.md to the byte where clients can tell, and decides nothing: what exists, what
//! state it is in and what may change is asked of the scheduler with every request. It must not know a
//! store, Consul or Terraform, and it keeps no state between two requests but the scheduler's last word
//! on its replicas, for a second, and answers that are good until the scheduler names another version.
//!
//! Start with [`Gateway`], [`Options`] and [`Deps`]. A request goes through `transport` (HTTP, TLS, limits),
//! `routes` (which request is what), `app` (what happens before a handler), `request` (what it says),
//! `scheduler_client` (calls of the scheduler) and `model` (answers), or ends in a `problem`.
#![warn(missing_docs)]

mod app;
mod model;
mod options;
mod original;
mod problem;
mod request;
mod routes;
mod scheduler_client;
mod transport;

pub use options::{Deps, Limits, LocalTime, Mode, Options, RequestIds};
pub use transport::server::Gateway;
