//! Settles which applied inputs are in doubt on a new timeline of the database, before anything is queued.

use std::time::Duration;

use cts_core::Chain;
use cts_store::{LeaderError, Settlement};
use tokio::time::Instant;

use super::{LeaderLoop, STORE_RETRY};

/// Time between two reads of the workers' reports.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl LeaderLoop {
    /// Returns whether it is decided which inputs count as applied. Until then nothing is queued: a run would start
    /// although the workers may vouch for its input. Nothing is leased before that decision either, so the wait delays
    /// no run.
    pub(super) async fn settle(&mut self) -> bool {
        if self.settled {
            return true;
        }
        let Some(epoch) = self.term.epoch() else {
            return false;
        };
        match self.context.store.settle(epoch, self.context.lease).await {
            Ok(settlement) => {
                self.settled = settlement != Settlement::Open;
                log(&settlement);
                if !self.settled {
                    self.not_before = Some(Instant::now() + LOOK_EVERY);
                }
            }
            Err(LeaderError::Deposed { .. }) => self.term.end(epoch),
            Err(LeaderError::Store(error)) => {
                cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot settle what is in doubt since the database is on another timeline, trying again");
                self.not_before = Some(Instant::now() + STORE_RETRY);
            }
        }
        self.settled
    }
}

fn log(settlement: &Settlement) {
    match settlement {
        Settlement::Settled | Settlement::Open => {}
        Settlement::Trusted { trusted, untrusted } => {
            tracing::info!(
                target: "ha",
                trusted,
                untrusted,
                "all workers vouch for the tasks on the new timeline of the database; those of which a run is forgotten run once"
            );
        }
        Settlement::Distrusted { silent } => {
            let silent: Vec<&str> = silent.iter().map(cts_core::WorkerId::as_str).collect();
            tracing::warn!(
                target: "ha",
                workers = silent.join(", "),
                "no worker vouches for the tasks on the new timeline of the database, or some have not in time; every task runs once"
            );
        }
    }
}
