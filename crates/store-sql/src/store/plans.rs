//! Plans of runs as data.

use async_trait::async_trait;
use cts_core::lease::PlanKey;
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, PRUNED_AT_ONCE, PlanStore, Removed, StoreError};

use super::{SqlStore, read, statement, step, transaction};
use crate::database::Database;
use crate::plans;
use crate::prune::EndedRun;

#[async_trait]
impl<D: Database> PlanStore for SqlStore<D> {
    async fn plan_key(&self, proposed: &PlanKey) -> Result<PlanKey, StoreError> {
        transaction!(self, Process, c => plans::key(c, proposed))
    }

    async fn record_plan(
        &self,
        run: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
        content: &[u8],
    ) -> Result<(), LeaseError> {
        statement!(self, c => plans::record(c, (run, holder, epoch), content))
    }

    async fn recorded_plan(&self, run: RunId) -> Result<Option<Vec<u8>>, StoreError> {
        read!(self, c => plans::read(c, run))
    }

    async fn plan_space(&self) -> Result<u64, StoreError> {
        read!(self, c => plans::space(c))
    }

    async fn remove_plans(&self, bytes: u64) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        let mut after = Some(EndedRun::FIRST);
        while let Some(from) = after
            && removed.bytes < bytes
        {
            let oldest = step!(self, Read, c => plans::oldest(c, from));
            let mut chosen = Vec::new();
            for (plan, size) in &oldest {
                if removed.bytes < bytes {
                    removed.runs += 1;
                    removed.bytes = removed.bytes.saturating_add(*size);
                    chosen.push(plan.run);
                }
            }
            self.delete_plans(&chosen).await?;
            after = oldest.last().map(|(plan, _size)| *plan);
        }
        if removed.runs > 0 {
            self.noted(self.database.give_back_space()).await?;
        }
        Ok(removed)
    }
}

impl<D: Database> SqlStore<D> {
    pub(super) async fn delete_plans(&self, runs: &[RunId]) -> Result<(), StoreError> {
        for runs in runs.chunks(PRUNED_AT_ONCE) {
            step!(self, Statement, c => plans::remove(c, runs));
        }
        Ok(())
    }
}
