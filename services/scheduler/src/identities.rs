//! Ids and jitter, passed in so that tests can repeat themselves.

use std::fmt;

use cts_core::lease::{LeaseKey, PlanKey};
use cts_core::settings::ClusterKey;
use cts_core::{ArchiveId, Digest, EventId, Incarnation, RunId};
use uuid::Uuid;

/// Makes ids and random shares.
pub trait Identities: Send + Sync + fmt::Debug {
    /// An id that no run has.
    fn run_id(&self) -> RunId;
    /// Returns an incarnation that differs from those of all other processes and of earlier starts.
    fn incarnation(&self) -> Incarnation;
    /// An id that no event has.
    fn event_id(&self) -> EventId;
    /// An id that no archive has.
    fn archive_id(&self) -> ArchiveId {
        ArchiveId::from_uuid(self.run_id().as_uuid())
    }
    /// A key that no other cluster has.
    fn cluster_key(&self) -> ClusterKey;
    /// A key for the secrets of leases that no other cluster has.
    fn lease_key(&self) -> LeaseKey {
        LeaseKey::new(*self.cluster_key().expose())
    }
    /// A key for the fingerprints of plans that no other cluster has.
    fn plan_key(&self) -> PlanKey {
        PlanKey::new(*self.cluster_key().expose())
    }
    /// A random share in `[0, 1)`.
    fn jitter(&self) -> f64;
}

/// Ids that sort by time, from the operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIdentities;

impl Identities for RandomIdentities {
    fn run_id(&self) -> RunId {
        RunId::from_uuid(Uuid::now_v7())
    }

    fn incarnation(&self) -> Incarnation {
        Incarnation::from_uuid(Uuid::new_v4())
    }

    fn event_id(&self) -> EventId {
        EventId::from_uuid(Uuid::new_v4())
    }

    fn cluster_key(&self) -> ClusterKey {
        // Each has 122 random bits.
        let random = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
        let random = Digest::of_parts(random.iter().map(|uuid| uuid.as_bytes().as_slice()));
        ClusterKey::new(*random.as_bytes())
    }

    fn jitter(&self) -> f64 {
        let [a, b, c, d, ..] = *Uuid::new_v4().as_bytes();
        f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
    }
}
