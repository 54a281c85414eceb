//! Settings in force.

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::{LeaderError, SettingsChange, SettingsStore, StoreError, UnsettledRun};

use super::{SqlStore, read, transaction};
use crate::database::Database;
use crate::settings;

#[async_trait]
impl<D: Database> SettingsStore for SqlStore<D> {
    async fn cluster_key(&self, proposed: &ClusterKey) -> Result<ClusterKey, StoreError> {
        transaction!(self, Process, c => settings::cluster_key(c, proposed))
    }

    async fn settings(&self) -> Result<Vec<SettingsGeneration>, StoreError> {
        read!(self, c => settings::all(c))
    }

    async fn unsettled_runs(&self) -> Result<Vec<UnsettledRun>, StoreError> {
        read!(self, c => settings::unsettled(c))
    }

    async fn change_settings(
        &self,
        leader: LeaderEpoch,
        change: &SettingsChange,
    ) -> Result<(), LeaderError> {
        transaction!(self, Process, Short, leader, c => settings::change(c, change))
    }
}
