//! The gRPC services of a replica, one file each: the requests of callers, workers and gateways.

pub(crate) mod access_service;
pub(crate) mod approval_service;
mod brake;
pub(crate) mod bundle_service;
pub(crate) mod cluster_service;
pub(crate) mod follow;
pub(crate) mod last_heartbeats;
pub(crate) mod lease_proofs;
pub(crate) mod local_consent;
pub(crate) mod log_service;
pub(crate) mod overview;
pub(crate) mod plan_service;
mod queue;
pub(crate) mod read_ahead;
pub(crate) mod registrations;
pub(crate) mod run_service;
pub(crate) mod session_service;
pub(crate) mod task_service;
mod task_states;
pub(crate) mod worker_service;
