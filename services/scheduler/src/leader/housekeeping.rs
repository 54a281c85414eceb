//! Prunes old runs and other old data, so that the database does not grow for ever.
//!
//! Ended runs beyond the newest 500 of a task, or older than 90 days (`runs_kept`, `runs_kept_for`), are pruned hourly,
//! with their events, logs and inputs. The newest success of an existing task is kept. All earlier tasks with the same
//! name count as one task. The table `housekeeping` has the time of the last round, so that rounds continue when
//! another replica leads.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::{Chain, LeaderEpoch, LogSpace, housekeeping_wait};
use cts_store::{LeaderError, SpaceWarnings, StoreError};
use tokio::time::{Instant, sleep};

use super::Leader;
use crate::metrics::Space;
use crate::term::Term;

/// Time between two rounds that prune old runs and note which bundles are used; a quarter of the runs'
/// retention if that is shorter.
const HOUSEKEEPING: Duration = Duration::from_hours(1);

/// Wait before a housekeeping that has failed is begun again.
const AGAIN: Duration = Duration::from_mins(1);

impl Leader {
    /// Prunes whenever pruning is due by the time of the database, regardless of the leader of the last round. `begun`
    /// is when this leader began to serve; configurations may have changed since.
    pub(super) async fn prune_loop(&self, term: &Term, begun: Instant) -> Infallible {
        let every = HOUSEKEEPING.min(self.context.retention.age / 4);
        loop {
            let epoch = term.in_force().await;
            let wait = match self.prune_if_due(epoch, every, begun).await {
                Ok(wait) => wait,
                Err(LeaderError::Deposed { .. }) => {
                    term.end(epoch);
                    continue;
                }
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot forget old runs");
                    AGAIN.min(every)
                }
            };
            sleep(wait).await;
        }
    }

    /// Returns how long to wait until the next look. If the process ends in the middle, the next leader begins again.
    async fn prune_if_due(
        &self,
        leader: LeaderEpoch,
        every: Duration,
        begun: Instant,
    ) -> Result<Duration, LeaderError> {
        let last = self.context.store.last_housekeeping(leader).await?;
        let wait = housekeeping_wait(last.since, every, begun.elapsed());
        if !wait.is_zero() {
            return Ok(wait);
        }
        let forgotten = self.forget_runs().await;
        // Logs and plans are limited also while runs cannot be forgotten.
        let logs = self.limit(Space::Logs, last.warned.logs).await;
        let plans = self.limit(Space::Plans, last.warned.plans).await;
        let forgotten = forgotten?;
        if forgotten > 0 {
            tracing::info!(runs = forgotten, "old runs forgotten");
        }
        let warned = SpaceWarnings {
            logs: logs?,
            plans: plans?,
        };
        self.context.store.end_housekeeping(leader, warned).await?;
        Ok(every)
    }

    async fn forget_runs(&self) -> Result<u64, StoreError> {
        let tasks = self.context.store.tasks().await?;
        let bundles: Vec<_> = tasks
            .iter()
            .filter_map(|task| Some(task.spec.definition.bundle.as_ref()?.hash))
            .collect();
        self.context.store.keep_bundles(&bundles).await?;
        self.context.store.prune(self.context.retention).await
    }

    /// Removes what takes more space than is allowed. Returns whether the warning was logged since the space was far
    /// from its limit.
    async fn limit(&self, space: Space, warned: bool) -> Result<bool, StoreError> {
        let (context, store) = (&self.context, &self.context.store);
        let (used, limit) = match space {
            Space::Logs => (store.log_space().await?, context.logs_kept),
            Space::Plans => (store.plan_space().await?, context.plans_kept),
        };
        context.metrics.measured(space, used, limit);
        let judged = LogSpace::judge(used, limit, warned);
        if judged.warn {
            tracing::warn!(used_bytes = used, limit_bytes = limit, "{}", near(space));
        }
        if judged.surplus > 0 {
            let removed = match space {
                Space::Logs => store.remove_logs(judged.surplus).await?,
                Space::Plans => store.remove_plans(judged.surplus).await?,
            };
            let left = used.saturating_sub(removed.bytes);
            context.metrics.measured(space, left, limit);
            tracing::info!(
                runs = removed.runs,
                bytes = removed.bytes,
                used_bytes = left,
                limit_bytes = limit,
                "{}",
                beyond(space)
            );
        }
        Ok(judged.warned)
    }
}

/// The warning about a space near its limit.
const fn near(space: Space) -> &'static str {
    match space {
        Space::Logs => {
            "the logs of runs take most of the space that `scheduler.logs_kept` allows; beyond it the oldest logs of successful runs are removed"
        }
        Space::Plans => {
            "the plans of runs take most of the space that `scheduler.plans_kept` allows; beyond it the oldest plans are removed"
        }
    }
}

/// The report about a removal.
const fn beyond(space: Space) -> &'static str {
    match space {
        Space::Logs => {
            "logs of runs removed, because all logs took more space than `scheduler.logs_kept` allows"
        }
        Space::Plans => {
            "plans of runs removed, because all plans took more space than `scheduler.plans_kept` allows"
        }
    }
}
