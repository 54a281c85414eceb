//! Readiness of a service for the orchestrator that runs it (docs/telemetry.md#health).

use std::sync::Arc;

use tokio::sync::watch;

/// Changes at run time the answer of `/health/ready`. Cheap to clone; clones share one state.
///
/// A new one is not ready: "starting".
#[derive(Debug, Clone)]
pub struct Readiness(Arc<watch::Sender<Result<(), String>>>);

impl Readiness {
    /// Not ready yet.
    pub fn starting() -> Self {
        Self(Arc::new(watch::Sender::new(Err("starting".to_owned()))))
    }

    /// Ready from now on.
    pub fn ready(&self) {
        self.set(Ok(()));
    }

    /// Not ready from now on, for this reason.
    pub fn not_ready(&self, reason: impl Into<String>) {
        self.set(Err(reason.into()));
    }

    /// The present state, with the reason if it is not ready.
    pub fn current(&self) -> Result<(), String> {
        self.0.borrow().clone()
    }

    fn set(&self, state: Result<(), String>) {
        self.0.send_if_modified(|current| {
            let modified = *current != state;
            *current = state;
            modified
        });
    }
}
