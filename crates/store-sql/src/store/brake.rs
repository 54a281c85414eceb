//! The brake of the fleet.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::brake::NotedFleet;
use cts_core::{InstanceCounts, LeaderEpoch, TaskName};
use cts_store::{
    BrakeError, BrakeNote, BrakeStore, FirstApply, LeaderError, SeenBrake, StoreError, StoredBrake,
};

use super::{SqlStore, change, read, transaction};
use crate::brake;
use crate::database::Database;

#[async_trait]
impl<D: Database> BrakeStore for SqlStore<D> {
    async fn brake(&self) -> Result<StoredBrake, StoreError> {
        read!(self, c => brake::read(c))
    }

    async fn note_brake(
        &self,
        leader: LeaderEpoch,
        releases: u64,
        fleet: &NotedFleet,
    ) -> Result<BrakeNote, LeaderError> {
        transaction!(self, Process, Long, leader, c => brake::note(c, releases, fleet))
    }

    async fn release_brake(
        &self,
        seen: Option<SeenBrake>,
    ) -> Result<Option<StoredBrake>, BrakeError> {
        change!(self, Long, None, c => brake::release(c, seen))
    }

    async fn applied_instances(
        &self,
        names: &[TaskName],
    ) -> Result<Vec<(TaskName, InstanceCounts)>, StoreError> {
        transaction!(self, Process, c => brake::applied(c, names))
    }

    async fn first_applies(
        &self,
        since: &[(TaskName, DateTime<Utc>)],
    ) -> Result<Vec<(TaskName, DateTime<Utc>, FirstApply)>, StoreError> {
        read!(self, c => brake::first_applies(c, since))
    }
}
