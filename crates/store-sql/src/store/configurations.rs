//! Configurations of members.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_store::{
    AppliedConfiguration, Configuration, ConfigurationInForce, ConfigurationStore, LeaderError,
    Member, MemberConfiguration, Registered, StoreError,
};

use super::{SqlStore, change, read, transaction};
use crate::configurations;
use crate::database::Database;

#[async_trait]
impl<D: Database> ConfigurationStore for SqlStore<D> {
    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError> {
        transaction!(self, Process, c => configurations::register(c, member, configuration, time_to_live))
    }

    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError> {
        transaction!(self, Process, Short, leader, c => configurations::adopt(c, member, configuration, replace))
    }

    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError> {
        change!(self, Long, None, if |number: &Option<u64>| number.is_some(), c => configurations::apply(c, wanted))
    }

    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError> {
        read!(self, c => configurations::in_force(c))
    }

    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError> {
        read!(self, c => configurations::all(c, within))
    }

    async fn configuration_version(&self) -> Result<String, StoreError> {
        read!(self, c => configurations::version(c))
    }
}
