//! Effects that wait for consent although the data of their tasks need them no longer.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::{Chain, LeaderEpoch};
use cts_store::{Approval, LeaderError};
use tokio::time::sleep;

use super::Leader;
use crate::term::Term;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(10);

impl Leader {
    /// Withdraws effects that are gone for too long, and asks anew where a consent has expired.
    pub(super) async fn withdraw_effects(&self, term: &Term) -> Infallible {
        loop {
            sleep(EVERY).await;
            let epoch = term.in_force().await;
            match self.withdraw_gone(epoch).await {
                Ok(()) => {}
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot withdraw effects that are gone");
                }
            }
        }
    }

    async fn withdraw_gone(&self, leader: LeaderEpoch) -> Result<(), LeaderError> {
        let (store, notifier) = (&self.context.store, &self.context.notifier);
        let withdrawn = store.withdraw_gone(leader).await?;
        for approval in &withdrawn {
            let Approval {
                task, effect, run, ..
            } = approval;
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, effect, "the effect of a run is withdrawn: the data of its task need it no longer");
            if let Some(run) = store.run(*run).await?.filter(|run| run.status.is_end()) {
                notifier.run_changed(run.id, &run.task, run.kind, run.status);
            }
        }
        if !withdrawn.is_empty() {
            notifier.tasks_changed();
            notifier.queue_changed();
        }
        Ok(())
    }
}
