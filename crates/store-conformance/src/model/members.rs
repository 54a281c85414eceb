//! Replicas and workers of the model.

use std::time::Duration;

use cts_core::Incarnation;
use cts_store::Member;

use super::service::Service;

#[derive(Debug, Default)]
pub(super) struct ModelLeader {
    pub(super) epoch: u64,
    pub(super) holder: Option<Member>,
    /// Incarnation of the last holder.
    pub(super) incarnation: Option<Incarnation>,
    pub(super) expires: Duration,
    pub(super) service: Service,
}

#[derive(Debug, Default)]
pub(super) struct ModelWorker {
    pub(super) drains_itself: bool,
    pub(super) drain_requested: bool,
    pub(super) seen: Duration,
}
