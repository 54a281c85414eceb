//! The last heartbeat of each worker at this replica.

use std::collections::HashMap;
use std::sync::Arc;

use cts_core::{WorkerId, WorkerRecord};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::liveness::LOST;

/// Number of lives of workers that are remembered.
const REMEMBERED: usize = 4096;

/// Finds heartbeats that bring nothing new. Cheap to clone; clones share the heartbeats.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastHeartbeats(Arc<Mutex<HashMap<WorkerId, (WorkerRecord, Instant)>>>);

impl LastHeartbeats {
    /// Notes a heartbeat. Returns whether the record of its worker changed, or may have counted as lost before.
    pub(crate) fn is_news(&self, worker: &WorkerRecord) -> bool {
        let now = Instant::now();
        let mut known = self.0.lock();
        if let Some((before, at)) = known.get_mut(&worker.id) {
            let is_news = before != worker || now.duration_since(*at) >= LOST;
            before.clone_from(worker);
            *at = now;
            return is_news;
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(worker.id.clone(), (worker.clone(), now));
        true
    }

    /// Forgets a worker that has left.
    pub(crate) fn forget(&self, worker: &WorkerId) {
        self.0.lock().remove(worker);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cts_core::Capabilities;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_is_news_if_its_record_changed_or_its_worker_was_silent() {
        let heartbeats = LastHeartbeats::default();
        let worker = WorkerRecord {
            id: WorkerId::new("w"),
            host: "h".to_owned(),
            version: "1".to_owned(),
            slots: 1,
            capabilities: Capabilities::default(),
            draining: false,
            settings: None,
            problem: None,
        };
        let second = Duration::from_secs(1);
        assert!(heartbeats.is_news(&worker));
        advance(LOST.saturating_sub(second)).await;
        assert!(!heartbeats.is_news(&worker));
        advance(LOST).await;
        assert!(heartbeats.is_news(&worker), "the worker was lost");
        let draining = WorkerRecord {
            draining: true,
            ..worker.clone()
        };
        assert!(heartbeats.is_news(&draining));
        assert!(!heartbeats.is_news(&draining));
        heartbeats.forget(&worker.id);
        assert!(heartbeats.is_news(&draining));
    }
}
