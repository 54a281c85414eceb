//! Causes of a planner: changes that arrive within one second are one cause.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{CAUSES_OF_RUN, Cause};
use cts_core::{CauseId, ChangeCounts, Clock, ViewId};

use crate::identities::Identities;

/// Time from the first change of a cause within which changes join the cause.
const WITHIN: Duration = Duration::from_secs(1);

/// Makes the causes of a planner.
#[derive(Debug)]
pub(crate) struct ChangeGroups {
    identities: Arc<dyn Identities>,
    clock: Arc<dyn Clock>,
    newest: Option<(Duration, Arc<Cause>)>,
    /// The cause of the differences in the first input of each task.
    pub(super) comparison: Arc<Cause>,
}

impl ChangeGroups {
    pub(crate) fn new(identities: Arc<dyn Identities>, clock: Arc<dyn Clock>) -> Self {
        Self {
            newest: None,
            comparison: new_cause(&*identities, &*clock),
            identities,
            clock,
        }
    }

    /// Returns the cause of the changes of a view.
    pub(super) fn note(
        &mut self,
        view: &ViewId,
        counts: ChangeCounts,
        now: Duration,
    ) -> Arc<Cause> {
        let newest = self.newest.take();
        let newest = newest.filter(|(since, _)| now.saturating_sub(*since) < WITHIN);
        let begin = || (now, new_cause(&*self.identities, &*self.clock));
        let (since, cause) = newest.unwrap_or_else(begin);
        cause.add(view, counts);
        self.newest = Some((since, Arc::clone(&cause)));
        cause
    }
}

fn new_cause(identities: &dyn Identities, clock: &dyn Clock) -> Arc<Cause> {
    let id = CauseId::from_uuid(identities.run_id().as_uuid());
    Arc::new(Cause::new(id, clock.now()))
}

/// Adds later causes to those of a task, which keeps the newest.
pub(crate) fn add_later(causes: &mut Vec<Arc<Cause>>, later: &[Arc<Cause>]) {
    for cause in later {
        if causes.iter().all(|known| known.id != cause.id) {
            causes.push(Arc::clone(cause));
        }
    }
    causes.drain(..causes.len().saturating_sub(CAUSES_OF_RUN));
}
