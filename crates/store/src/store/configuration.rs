//! Configurations of members, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::LeaderEpoch;

use crate::cluster::Member;
use crate::configuration::{
    AppliedConfiguration, Configuration, ConfigurationInForce, MemberConfiguration, Registered,
};
use crate::error::{LeaderError, StoreError};

/// Configurations of members, and the configuration in force. Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait ConfigurationStore {
    /// Registers the configuration of a member that started or read its files again, and decides whether it takes
    /// effect.
    ///
    /// By [`cts_core::judge`], it takes effect if every other member that was seen within `time_to_live` has
    /// registered a configuration that agrees with it. If the configuration is in force already, what is stored
    /// stays; only a member without other members refreshes the modules and paths that it found.
    ///
    /// While the verdict is [open](cts_core::Verdict::Open), the member repeats the call until `time_to_live` has
    /// passed since the first call with these task blocks; later repetitions change nothing.
    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError>;

    /// Puts a configuration in force without regard to other members: if no configuration is in force, or, with
    /// `replace`, always. Returns the configuration in force afterwards.
    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError>;

    /// Puts a configuration in force without regard to members, and returns its number.
    ///
    /// `None` if the configuration in force is not the one that it was compared with. The same transaction forgets
    /// the API changes and deletions of its tasks.
    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError>;

    /// The configuration in force; `None` if none was put in force yet, or if this program cannot decode it.
    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError>;

    /// The configurations of the members seen within the last `within`, by id.
    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError>;

    /// Opaque version. Changes whenever a configuration is registered or put in force.
    async fn configuration_version(&self) -> Result<String, StoreError>;
}
