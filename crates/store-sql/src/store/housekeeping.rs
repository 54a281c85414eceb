//! Regular housekeeping by the leader.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cts_core::{Incarnation, LeaderEpoch, RunId, TimesAt};
use cts_store::{
    Housekeeping, LINES_PRUNED_AT_ONCE, LastHousekeeping, LeaderError, PRUNED_AT_ONCE, Removed,
    Retention, SpaceWarnings, StoreError,
};

use super::{SqlStore, read, step, transaction};
use crate::database::Database;
use crate::prune::{EndedRun, FOUND_AT_ONCE};
use crate::{bundles, housekeeping, log_space, logs, plans, prune, times};

#[async_trait]
impl<D: Database> Housekeeping for SqlStore<D> {
    async fn last_housekeeping(
        &self,
        leader: LeaderEpoch,
    ) -> Result<LastHousekeeping, LeaderError> {
        transaction!(self, Process, Short, leader, c => housekeeping::last(c))
    }

    async fn end_housekeeping(
        &self,
        leader: LeaderEpoch,
        warned: SpaceWarnings,
    ) -> Result<(), LeaderError> {
        transaction!(self, Process, Short, leader, c => housekeeping::end(c, warned))
    }

    async fn log_space(&self) -> Result<u64, StoreError> {
        for runs in self.unmeasured_logs().await?.rchunks(PRUNED_AT_ONCE) {
            let sizes = step!(self, Read, c => log_space::sizes(c, runs));
            step!(self, Statement, c => log_space::note(c, &sizes));
        }
        let (mut space, running) = step!(self, Read, c => log_space::measured(c));
        for runs in running.chunks(PRUNED_AT_ONCE) {
            for (_run, bytes) in step!(self, Read, c => log_space::sizes(c, runs)) {
                space = space.saturating_add(bytes);
            }
        }
        Ok(space)
    }

    async fn remove_logs(&self, bytes: u64) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        for succeeded in [true, false] {
            let mut after = Some(EndedRun::FIRST);
            while let Some(from) = after
                && removed.bytes < bytes
            {
                let ended = step!(self, Read, c => log_space::ended(c, from, false));
                let mut chosen = Vec::new();
                for log in &ended {
                    let space = log.bytes.unwrap_or_default();
                    if log.succeeded == succeeded && space > 0 && removed.bytes < bytes {
                        removed.runs += 1;
                        removed.bytes = removed.bytes.saturating_add(space);
                        chosen.push(log.position.run);
                    }
                }
                for runs in chosen.chunks(PRUNED_AT_ONCE) {
                    step!(self, Statement, c => log_space::replace_last_lines(c, runs));
                    self.delete_lines(runs, true).await?;
                    step!(self, Statement, c => log_space::note_removed(c, runs));
                }
                after = ended.last().map(|log| log.position);
            }
        }
        if removed.runs > 0 {
            self.noted(self.database.give_back_space()).await?;
        }
        Ok(removed)
    }

    async fn count_applied(
        &self,
        scheduler: Incarnation,
        runs: &[RunId],
    ) -> Result<(), StoreError> {
        transaction!(self, Process, c => times::count_applied(c, scheduler, runs))
    }

    async fn times(&self, from: DateTime<Utc>) -> Result<Vec<TimesAt>, StoreError> {
        read!(self, c => times::since(c, from))
    }
}

impl<D: Database> SqlStore<D> {
    /// Unmeasured logs of ended runs, newest first: if the process dies, the unmeasured logs are still the newest. The
    /// search ends at a page of measured logs: earlier logs are measured too, because an ended run is visible long
    /// before a thousand later runs have ended.
    async fn unmeasured_logs(&self) -> Result<Vec<RunId>, StoreError> {
        let mut unmeasured = Vec::new();
        let mut before = log_space::LAST;
        loop {
            let page = step!(self, Read, c => log_space::ended(c, before, true));
            let known = unmeasured.len();
            let found = page.iter().filter(|log| log.bytes.is_none());
            unmeasured.extend(found.map(|log| log.position.run));
            match page.last() {
                Some(last) if unmeasured.len() > known => before = last.position,
                _ => return Ok(unmeasured),
            }
        }
    }

    /// Forgets old rows; see [`Store::prune`](cts_store::Store::prune).
    pub(super) async fn forget_old(&self, retention: Retention) -> Result<u64, StoreError> {
        step!(self, Transaction, c => housekeeping::forget(c, retention.age));
        step!(self, Transaction, c => times::sum_up(c));
        self.forget_bundles().await?;
        let mut forgotten = 0;
        let mut names = step!(self, Read, c => prune::next_names(c, ""));
        while let Some(last) = names.last().cloned() {
            loop {
                let surplus = step!(self, Read, c => prune::surplus(c, &names, retention));
                forgotten += self.forget_runs(&surplus).await?;
                if surplus.len() < FOUND_AT_ONCE {
                    break;
                }
            }
            let surplus = step!(self, Read, c => plans::surplus(c, &names));
            self.delete_plans(&surplus).await?;
            names = step!(self, Read, c => prune::next_names(c, &last));
        }
        let mut after = Some(EndedRun::FIRST);
        while let Some(from) = after {
            let outdated = step!(self, Read, c => prune::outdated(c, retention, from));
            let runs: Vec<_> = outdated.iter().map(|position| position.run).collect();
            forgotten += self.forget_runs(&runs).await?;
            after = outdated.last().copied();
        }
        while step!(self, Transaction, c => prune::causes(c)) {}
        let mut after = Some(String::new());
        while let Some(from) = after {
            let next = step!(self, Transaction, c => prune::next_inputs(c, &from));
            after = next.last().map(|(hash, _unused)| hash.clone());
            let unused = next.into_iter().filter(|(_hash, unused)| *unused);
            let unused: Vec<_> = unused.map(|(hash, _unused)| hash).collect();
            for inputs in unused.chunks(PRUNED_AT_ONCE) {
                step!(self, Transaction, c => prune::inputs(c, inputs));
            }
        }
        self.noted(self.database.give_back_space()).await?;
        Ok(forgotten)
    }

    async fn forget_runs(&self, runs: &[RunId]) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        for runs in runs.chunks(PRUNED_AT_ONCE) {
            self.delete_lines(runs, false).await?;
            forgotten += step!(self, Transaction, c => prune::runs(c, runs));
        }
        Ok(forgotten)
    }

    async fn delete_lines(&self, runs: &[RunId], keep_last: bool) -> Result<(), StoreError> {
        loop {
            let deleted = step!(self, Statement, c => logs::delete_lines(c, runs, keep_last));
            if deleted < u64::from(LINES_PRUNED_AT_ONCE) {
                return Ok(());
            }
        }
    }

    /// Forgets bundles that have been unused for long. A bundle that a run still needs counts as in use now.
    async fn forget_bundles(&self) -> Result<(), StoreError> {
        let Some(since) = step!(self, Read, c => bundles::unused_since(c)) else {
            return Ok(());
        };
        let mut tasks = step!(self, Read, c => bundles::next_tasks(c, ""));
        while let Some(last) = tasks.last().cloned() {
            let used = step!(self, Read, c => bundles::in_use(c, &tasks));
            step!(self, Statement, c => bundles::keep(c, &used));
            tasks = step!(self, Read, c => bundles::next_tasks(c, &last));
        }
        step!(self, Statement, c => bundles::forget(c, since));
        Ok(())
    }
}
