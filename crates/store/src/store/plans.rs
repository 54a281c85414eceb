//! Plans of runs as data, as a trait of every store.

use async_trait::async_trait;
use cts_core::lease::PlanKey;
use cts_core::{LeaseEpoch, RunId, WorkerId};

use super::housekeeping::Removed;
use crate::error::{LeaseError, StoreError};

/// Number of the newest plans kept of a task's applies.
///
/// Plans of runs that have not ended are kept besides. A plan is removed with its run and with its task.
pub const APPLY_PLANS_KEPT: u32 = 20;

/// Number of the newest plans kept of a task's inspections.
pub const INSPECTION_PLANS_KEPT: u32 = 5;

/// Plans of runs as data (docs/runs.md#plans-as-data). Every method is one transaction, like those of
/// [`Store`](crate::Store).
#[async_trait]
pub trait PlanStore {
    /// Returns the key for the fingerprints of plans: the stored one, else `proposed`, which is then stored.
    async fn plan_key(&self, proposed: &PlanKey) -> Result<PlanKey, StoreError>;

    /// Stores the plan of a run, in the place of an earlier one, under a lease of `holder` that counts for
    /// [`Store::complete`](crate::Store::complete). `content` is a compressed message, which the store does not read.
    async fn record_plan(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        content: &[u8],
    ) -> Result<(), LeaseError>;

    /// The stored plan of a run; `None` without one.
    async fn recorded_plan(&self, run: RunId) -> Result<Option<Vec<u8>>, StoreError>;

    /// Space of all plans in bytes.
    async fn plan_space(&self) -> Result<u64, StoreError>;

    /// Removes plans of at least this many bytes in total, or all plans of ended runs: the oldest first. Done in small
    /// transactions; the next call completes an interrupted removal.
    async fn remove_plans(&self, bytes: u64) -> Result<Removed, StoreError>;
}
