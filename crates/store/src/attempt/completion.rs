//! Completions: their data, and the completion of a lost lease.

use cts_core::runs::AttemptOutcome;
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_proto::run::v1::ResourceCounts;

use crate::error::LeaseError;
use crate::model::{Completion, ExpiredLeases};

impl Completion {
    /// The end of an attempt whose lease has expired, in the form of a completion.
    pub fn of_lost_lease(
        (run, epoch): (RunId, LeaseEpoch),
        holder: &str,
        ids: &ExpiredLeases,
    ) -> Self {
        Self {
            run,
            holder: WorkerId::new(holder),
            epoch,
            outcome: AttemptOutcome::Interrupted,
            is_final: false,
            early_failure: None,
            event: ids.event,
            retry_run: ids.retry_run,
            jitter: ids.jitter,
            log: Vec::new(),
            details: None,
            state: None,
        }
    }

    /// The resources that the attempt changed, if its worker reported them.
    pub fn resources(&self) -> Option<ResourceCounts> {
        self.details.as_ref()?.resources
    }

    /// Address of the remote run of the attempt, if it had one.
    pub fn remote_url(&self) -> Option<String> {
        let url = &self.details.as_ref()?.remote_url;
        (!url.is_empty()).then(|| url.clone())
    }

    /// The error for a lease that does not exist.
    pub fn lost(&self) -> LeaseError {
        LeaseError::Lost {
            run: self.run,
            epoch: self.epoch,
        }
    }
}
