//! Tasks, requests and events of the model.

use std::time::Duration;

use cts_core::runs::{Accompanied, Occasion, RunKind};
use cts_core::{
    Creation, DeliveryAttempt, Digest, EventId, InstanceCounts, Loss, RunId, TaskName, TaskOrigin,
    TaskPhase, TaskSpec,
};
use cts_store::{Event, Refused, StoredTask};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEvent {
    pub id: EventId,
    /// `None` for a tick.
    pub run: Option<RunId>,
    pub success: bool,
    pub error: Option<String>,
}

impl From<&Event> for ModelEvent {
    fn from(event: &Event) -> Self {
        Self {
            id: event.id,
            run: event.run_id,
            success: event.success,
            error: event.error.clone(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ModelTask {
    pub(super) incarnation: u64,
    pub stored: StoredTask,
    pub last_applied: Option<Digest>,
    pub(super) applied_instances: Option<InstanceCounts>,
    pub(super) released: Option<InstanceCounts>,
    /// Why it is held, and what.
    pub held: Option<(Vec<Loss>, InstanceCounts)>,
    pub(super) tried: Option<Digest>,
    pub(super) last_attempt: Option<DeliveryAttempt>,
    /// Input of a cancelled run.
    pub(super) withheld: Option<Digest>,
    /// Reason of the apply that the task owes.
    pub(super) owes: Option<Occasion>,
    pub failures: u32,
    /// Oldest first.
    pub events: Vec<ModelEvent>,
    pub(super) configured: Option<Digest>,
    pub(super) creation: Option<(Creation, RunId)>,
    pub(super) discarded_at: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    pub task: TaskName,
    pub kind: RunKind,
    pub(super) accompanies: Option<Accompanied>,
    /// Why not, and when that was said.
    pub refused: Option<(Refused, Duration)>,
}

impl ModelTask {
    pub(super) fn new(
        incarnation: u64,
        spec: TaskSpec,
        origin: TaskOrigin,
        phase: TaskPhase,
    ) -> Self {
        Self {
            incarnation,
            stored: StoredTask {
                spec,
                origin,
                phase,
                revision: 1,
                destroy_run: None,
                destruction_suspended: false,
            },
            last_applied: None,
            applied_instances: None,
            released: None,
            held: None,
            tried: None,
            last_attempt: None,
            withheld: None,
            owes: None,
            failures: 0,
            events: Vec::new(),
            configured: None,
            creation: None,
            discarded_at: Duration::ZERO,
        }
    }

    pub fn is_visible(&self) -> bool {
        self.stored.phase.is_visible()
    }
}
