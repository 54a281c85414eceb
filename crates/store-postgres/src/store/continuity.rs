//! Doubts on a new timeline.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::{JournalPart, LeaderEpoch};
use cts_store::{Continuity, LeaderError, Settlement, StoreError, Timeline, Vouched};

use super::PostgresStore;
use crate::doubts;
use crate::session::call;

#[async_trait]
impl Continuity for PostgresStore {
    async fn timeline(&self) -> Result<Timeline, StoreError> {
        call!(&self.pool, c => doubts::timeline(c))
    }

    async fn vouch(&self, part: &JournalPart) -> Result<Vouched, StoreError> {
        call!(&self.pool, c => doubts::vouch(c, part))
    }

    async fn settle(
        &self,
        leader: LeaderEpoch,
        lease: Duration,
    ) -> Result<Settlement, LeaderError> {
        call!(&self.pool, c => doubts::settle(c, leader, lease))
    }
}
