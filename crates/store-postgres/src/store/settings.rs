//! Settings in force.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::{LeaderError, SettingsChange, SettingsStore, StoreError, UnsettledRun};

use super::PostgresStore;
use crate::session::call;
use crate::settings;

#[async_trait]
impl SettingsStore for PostgresStore {
    async fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError> {
        call!(&self.pool, c => settings::cluster_key(c, proposed))
    }

    async fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError> {
        call!(&self.pool, c => settings::all(c))
    }

    async fn unsettled_runs(&self) -> Result<Vec<UnsettledRun>, StoreError> {
        call!(&self.pool, c => settings::unsettled(c))
    }

    async fn change_settings(
        &self,
        leader: LeaderEpoch,
        change: &SettingsChange,
    ) -> Result<(), LeaderError> {
        call!(&self.pool, c => settings::change(c, leader, change))
    }
}
