//! The REST gateway: the API of Consul-Terraform-Sync, version `v1`, in front of the gRPC services.
//!
//! The gateway follows docs/rest.md to the byte where clients can tell, and decides nothing: with every request the
//! scheduler answers which objects exist, in which state they are and which changes are allowed. The gateway must not
//! know a store, Consul or Terraform. Between two requests the only state is the scheduler's last answer about its
//! replicas, for a second, answers that are valid until the scheduler names a different version, and the tokens that
//! the scheduler has sent.
//!
//! Start with [`Gateway`], [`Options`] and [`Deps`]. A request goes through `server` and `transport` (HTTP, TLS,
//! limits), `route` (method and path), `authorization` (who may do it), `app` (steps before a handler), `request` (parameters and bodies),
//! `scheduler_client` (calls of the scheduler) and `model` (answers), or ends in a `problem`.
//! Requests for the page go through `page`, which calls the same handlers.

mod api_request;
mod app;
mod authorization;
mod body;
mod endpoint;
mod json;
mod metrics;
mod model;
mod options;
mod original;
mod outage_watch;
mod page;
mod problem;
mod request;
mod request_id;
mod request_span;
mod route;
mod routes;
mod scheduler_client;
mod server;
mod streams;
mod transport;

pub use options::{
    AccessOptions, Deps, ForwardedHeader, Limits, LocalTime, Mode, Options, PageOptions,
    RequestIds, Site,
};
pub use server::Gateway;
