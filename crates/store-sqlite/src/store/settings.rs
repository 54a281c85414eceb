//! Settings in force.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::{LeaderError, SettingsChange, SettingsStore, StoreError, UnsettledRun};

use super::SqliteStore;
use super::transaction::transaction;
use crate::{leadership, settings};

#[async_trait]
impl SettingsStore for SqliteStore {
    async fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError> {
        transaction!(self.begin, t, now => settings::cluster_key(&mut t, proposed, now))
    }

    async fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError> {
        settings::all(&self.pools.reader).await
    }

    async fn unsettled_runs(&self) -> Result<Vec<UnsettledRun>, StoreError> {
        settings::unsettled(&self.pools.reader).await
    }

    async fn change_settings(
        &self,
        leader: LeaderEpoch,
        change: &SettingsChange,
    ) -> Result<(), LeaderError> {
        transaction!(self.begin; leader, t, now => settings::change(&mut t, change, now))
    }
}
