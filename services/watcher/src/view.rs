//! The state of one view, and how the poller's events change it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulError, PollEvent};
use cts_core::{InstanceKey, ServiceInstance, ViewId, ViewSnapshot};
use tokio::sync::watch;

use crate::views::Revisions;

/// What is known of a view at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewState {
    /// Absent until Consul has answered for the first time.
    pub(crate) snapshot: Option<Arc<ViewSnapshot>>,
    /// Present while Consul cannot be asked.
    pub(crate) failure: Option<Arc<Failure>>,
}

/// Why Consul could not be asked last time.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// Pause after this failure.
    pub(crate) retry_after: Duration,
}

/// Stores what the poller of a view finds. What a module cannot see is no change.
#[derive(Debug)]
pub(crate) struct Publisher {
    id: ViewId,
    state: watch::Sender<ViewState>,
    revisions: Arc<Revisions>,
}

impl Publisher {
    pub(crate) const fn new(
        id: ViewId,
        state: watch::Sender<ViewState>,
        revisions: Arc<Revisions>,
    ) -> Self {
        Self {
            id,
            state,
            revisions,
        }
    }

    pub(crate) const fn id(&self) -> &ViewId {
        &self.id
    }

    pub(crate) fn publish(&self, event: PollEvent) {
        match event {
            PollEvent::Snapshot { index, instances } => self.observed(index, instances),
            PollEvent::Failure {
                error,
                failures,
                retry_after,
            } => self.failed(&error, failures, retry_after),
        }
    }

    fn observed(&self, index: u64, instances: Vec<ServiceInstance>) {
        let ViewState { snapshot, failure } = self.state.borrow().clone();
        let instances = sharing(snapshot.as_deref(), instances);
        let unchanged = snapshot.is_some_and(|known| known.instances == instances);
        let count = instances.len();
        if !unchanged {
            let snapshot = Arc::new(ViewSnapshot {
                revision: self.revisions.next(),
                instances,
            });
            self.state.send_replace(ViewState {
                snapshot: Some(snapshot),
                failure: None,
            });
        } else if failure.is_some() {
            self.state.send_modify(|state| state.failure = None);
        }
        // After the sending: a log line must not delay a change.
        if let Some(failure) = failure {
            let failures = failure.failures;
            tracing::info!(view.id = %self.id, failures, "consul answers again");
        }
        tracing::debug!(view.id = %self.id, consul.index = index, instances = count, changed = !unchanged, "consul answered");
    }

    fn failed(&self, error: &ConsulError, failures: u32, retry_after: Duration) {
        let message = error.report();
        // A row of failures is logged with its first, second, fourth, … member, so that an outage
        // does not fill the log; what only a person can mend is logged once.
        if failures == 1 || (failures.is_power_of_two() && !error.is_rejection()) {
            tracing::warn!(view.id = %self.id, error = message, failures, ?retry_after, "consul cannot be asked");
        }
        let failure = Arc::new(Failure {
            message,
            failures,
            retry_after,
        });
        self.state
            .send_modify(|state| state.failure = Some(failure));
    }
}

/// The instances in module order; those that have not changed are shared with `known`.
fn sharing(
    known: Option<&ViewSnapshot>,
    instances: Vec<ServiceInstance>,
) -> BTreeMap<InstanceKey, Arc<ServiceInstance>> {
    instances
        .into_iter()
        .map(|instance| {
            let key = instance.key();
            let same = known
                .and_then(|known| known.instances.get(&key))
                .filter(|known| ***known == instance)
                .cloned();
            (key, same.unwrap_or_else(|| Arc::new(instance)))
        })
        .collect()
}

#[cfg(test)]
mod tests;
