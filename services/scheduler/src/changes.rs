//! Who must know that runs changed: workers that wait for one, and callers that follow them.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::runs::RunStatus;
use cts_core::{Clock, RunId, TaskName};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, broadcast};

/// Changes that a slow follower may fall behind before it is cut off.
const BACKLOG: usize = 4096;

/// A run has a new status.
#[derive(Debug, Clone)]
pub(crate) struct RunChange {
    pub(crate) run: RunId,
    pub(crate) task: TaskName,
    pub(crate) status: RunStatus,
    pub(crate) at: DateTime<Utc>,
}

/// Hints, never the truth: whoever is woken looks into the store.
#[derive(Debug)]
pub(crate) struct Changes {
    queue: Notify,
    followers: broadcast::Sender<RunChange>,
    clock: Arc<dyn Clock>,
}

impl Changes {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            queue: Notify::new(),
            followers: broadcast::Sender::new(BACKLOG),
            clock,
        }
    }

    /// The queue has one more run, or one with another due time.
    pub(crate) fn queue_changed(&self) {
        self.queue.notify_one();
    }

    /// Is over when the queue has changed after the call.
    pub(crate) fn queue_change(&self) -> Notified<'_> {
        self.queue.notified()
    }

    pub(crate) fn tell(&self, run: RunId, task: &TaskName, status: RunStatus) {
        let change = RunChange {
            run,
            task: task.clone(),
            status,
            at: self.clock.now(),
        };
        // Nobody listening is no mistake.
        drop(self.followers.send(change));
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<RunChange> {
        self.followers.subscribe()
    }
}
