//! The brake of the fleet, as a trait of every store.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::brake::NotedFleet;
use cts_core::{InstanceCounts, LeaderEpoch, TaskName};

use crate::brake::{BrakeError, BrakeNote, FirstApply, SeenBrake, StoredBrake};
use crate::error::{LeaderError, StoreError};

/// The brake of the fleet (docs/runs.md#the-brake-of-the-fleet). Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait BrakeStore {
    /// Reads the brake; the default before a leader has noted it.
    async fn brake(&self) -> Result<StoredBrake, StoreError>;

    /// Notes the numbers of the fleet, unless a person has released the brake since `releases`.
    ///
    /// If this sets the brake, the same transaction holds each queued apply that was not requested and takes instances
    /// away, and marks the leased ones, so that none of them is leased again. If this ends the brake, they may be
    /// leased, and their tasks are no longer blocked.
    async fn note_brake(
        &self,
        leader: LeaderEpoch,
        releases: u64,
        fleet: &NotedFleet,
    ) -> Result<BrakeNote, LeaderError>;

    /// Releases the brake, and returns it as it was; `None` if it was not set.
    ///
    /// The present numbers are the reference from now on. With `seen`, releases only if no more is lost than the caller
    /// has seen.
    async fn release_brake(
        &self,
        seen: Option<SeenBrake>,
    ) -> Result<Option<StoredBrake>, BrakeError>;

    /// Instances of the inputs that were applied last or released, of the enabled tasks among these.
    async fn applied_instances(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, InstanceCounts)>, StoreError>;

    /// The first apply of each of these tasks that was leased after a time, with the task and the time; left out without
    /// such an apply and without an open one.
    async fn first_applies(
        &self,
        since: &[(TaskName, DateTime<Utc>)],
    ) -> Result<Vec<(TaskName, DateTime<Utc>, FirstApply)>, StoreError>;
}
