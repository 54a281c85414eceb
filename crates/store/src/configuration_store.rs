//! Configurations of members, as a trait of every store.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::LeaderEpoch;

use crate::cluster::Member;
use crate::configuration::{
    AppliedConfiguration, Configuration, ConfigurationInForce, MemberConfiguration, Registered,
};
use crate::error::{LeaderError, StoreError};

/// Configurations of members, and the one in force. Every method is one transaction, as those of
/// [`Store`](crate::Store) are.
#[async_trait]
pub trait ConfigurationStore {
    /// Registers the configuration of a member that has started or has read its files again, and decides by [`cts_core::judge`] whether
    /// it takes effect: if every other member that was seen within `time_to_live` has registered one that
    /// agrees with it. If the configuration is in force already, other members keep what is stored; a member
    /// that is alone refreshes the modules and paths that it has found out.
    ///
    /// While the verdict is [open](cts_core::Verdict::Open), the member calls again, until `time_to_live` has
    /// passed since the first call with these task blocks; repeating it after that changes nothing.
    async fn register_configuration(
        &self,
        member: &Member,
        configuration: &Configuration,
        time_to_live: Duration,
    ) -> Result<Registered, StoreError>;

    /// Puts a configuration in force without asking other members: if none is in force, or, with `replace`,
    /// in any case. Returns the one in force then.
    async fn adopt_configuration(
        &self,
        leader: LeaderEpoch,
        member: &Member,
        configuration: &Configuration,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError>;

    /// Puts a configuration in force without asking members, and returns its number; `None` if the one in
    /// force is not the one that it was compared with. The same transaction forgets the changes and deletions of its
    /// tasks by the API.
    async fn put_in_force(&self, wanted: &AppliedConfiguration) -> Result<Option<u64>, StoreError>;

    /// The configuration in force; `None` if none was put in force yet, or if this program cannot decode it.
    async fn configuration_in_force(&self) -> Result<Option<ConfigurationInForce>, StoreError>;

    /// The configurations of the members that were seen within the last `within`, by id.
    async fn configurations(
        &self,
        within: Duration,
    ) -> Result<Vec<MemberConfiguration>, StoreError>;

    /// Opaque version, which changes whenever a configuration was registered or put in force.
    async fn configuration_version(&self) -> Result<String, StoreError>;
}
