//! Readiness of a service for the orchestrator that runs it (docs/telemetry.md#health).

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

/// Something that a service needs to be ready; the error is the reason why it is not.
type Condition = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Decides the answer of `/health/ready`. Cheap to clone; clones share one state.
///
/// A new one is not ready: "starting".
#[derive(Clone)]
pub struct Readiness(Arc<Shared>);

struct Shared {
    phase: RwLock<Result<(), String>>,
    conditions: RwLock<Vec<Condition>>,
}

impl Readiness {
    /// Not ready yet.
    pub fn starting() -> Self {
        Self(Arc::new(Shared {
            phase: RwLock::new(Err("starting".to_owned())),
            conditions: RwLock::default(),
        }))
    }

    /// Ready from now on, while all conditions hold.
    pub fn ready(&self) {
        *self.0.phase.write() = Ok(());
    }

    /// Not ready from now on, for this reason.
    pub fn not_ready(&self, reason: impl Into<String>) {
        *self.0.phase.write() = Err(reason.into());
    }

    /// Adds a condition, which is evaluated with each question. It must not block.
    pub fn needs(&self, condition: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        self.0.conditions.write().push(Box::new(condition));
    }

    /// The present state, with the first reason if it is not ready.
    pub fn current(&self) -> Result<(), String> {
        self.0.phase.read().clone()?;
        self.0
            .conditions
            .read()
            .iter()
            .try_for_each(|condition| condition())
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Readiness").field(&self.current()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_service_is_ready_between_start_and_stop_while_its_conditions_hold() {
        let readiness = Readiness::starting();
        assert_eq!(readiness.current(), Err("starting".to_owned()));
        let holds = Arc::new(AtomicBool::new(false));
        let condition = Arc::clone(&holds);
        readiness.needs(move || {
            if condition.load(Ordering::Relaxed) {
                Ok(())
            } else {
                Err("no scheduler".to_owned())
            }
        });
        readiness.ready();
        assert_eq!(readiness.current(), Err("no scheduler".to_owned()));
        holds.store(true, Ordering::Relaxed);
        assert_eq!(readiness.current(), Ok(()));
        readiness.not_ready("stopping");
        assert_eq!(readiness.current(), Err("stopping".to_owned()));
    }
}
