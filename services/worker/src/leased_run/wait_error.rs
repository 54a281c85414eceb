//! Reasons why a run that has waited is not applied.

use cts_core::runs::WaitEnd;

use crate::pending_approval::Rejected;

/// The reason why a run that has waited is not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WaitError {
    /// The condition that the run waited for will not come.
    #[error("it waited in vain for {name}")]
    Rejected {
        name: String,
        #[source]
        lapsed: Rejected,
    },
    /// The scheduler has ended the wait and knows what follows.
    #[error("the wait was ended: {0}")]
    Ended(WaitEnd),
    /// The worker drains or stops, or has lost the lease.
    #[error("stopped while the run waited")]
    Stopped,
}
