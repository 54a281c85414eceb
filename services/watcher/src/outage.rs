//! Outages of Consul in the log: once for all views.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cts_core::{Clock, ViewId};
use cts_runtime::Reachability;

/// After this time an outage is an error in the log: the original gives up a view at this time.
pub(crate) const LONG: Duration = Duration::from_mins(10);

/// Whether Consul can be reached. Shared by all views, so that an outage is in the log once.
#[derive(Debug)]
pub(crate) struct ConsulOutage {
    consul: Reachability,
    views: Mutex<FailingViews>,
    /// Whether the log has the outage as a long outage.
    is_long: AtomicBool,
}

/// Views whose queries fail because of an outage.
#[derive(Debug, Default)]
struct FailingViews {
    now: HashSet<ViewId>,
    /// Views of the present outage, also those that have their answer again.
    of_outage: HashSet<ViewId>,
}

impl ConsulOutage {
    /// The Consul at this address.
    pub(crate) fn new(address: &str, clock: Arc<dyn Clock>) -> Self {
        Self {
            consul: Reachability::new(format!("Consul at {address}"), clock),
            views: Mutex::default(),
            is_long: AtomicBool::new(false),
        }
    }

    /// The query of a view has failed as all others do, for this time already. Logs a line if one is due.
    pub(crate) fn fails(&self, view: &ViewId, reason: String, failing_for: Duration) {
        let views = {
            let mut views = self.views.lock();
            views.now.insert(view.clone());
            views.of_outage.insert(view.clone());
            views.now.len()
        };
        let call = self.consul.begin();
        if let Some(line) = self.consul.fails_for(call, Some(reason), failing_for) {
            tracing::warn!(views, "{line}");
        }
    }

    /// The query of a view no longer fails because of an outage. The outage is over with the last of them.
    pub(crate) fn ends_for(&self, view: &ViewId) {
        let views = {
            let mut views = self.views.lock();
            if !views.now.remove(view) || !views.now.is_empty() {
                return;
            }
            std::mem::take(&mut views.of_outage).len()
        };
        if let Some((line, _failures)) = self.consul.answers(self.consul.begin()) {
            tracing::info!(views, "{line}");
        }
    }

    /// Returns whether the outage has to be logged as a long outage.
    pub(crate) fn begin_long(&self) -> bool {
        !self.is_long.swap(true, Ordering::Relaxed)
    }

    /// Consul has answered.
    pub(crate) fn end_long(&self) {
        if self.is_long.load(Ordering::Relaxed) {
            self.is_long.store(false, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_known_to_be_long(&self) -> bool {
        self.is_long.load(Ordering::Relaxed)
    }

    /// Whether queries fail because of an outage.
    pub(crate) fn is_on(&self) -> bool {
        self.consul.is_in_outage()
    }
}
