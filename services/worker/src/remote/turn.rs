//! Turns to begin: few runs begin their remote runs at a time, because each run has its whole input in memory while it
//! begins.

use parking_lot::Mutex;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::RemoteDriver;
use super::remote_attempt::RemoteAttempt;

/// Most remote runs that begin at a time. If the server answers within a second, these runs use up its limit of 30
/// requests a second.
pub(super) const TURNS: usize = 32;

/// The turn of one run to begin; a run without a turn only waits.
#[derive(Debug, Default)]
pub(crate) struct Turn(Mutex<Option<OwnedSemaphorePermit>>);

impl Turn {
    /// Gives the turn to another run.
    pub(super) fn leave(&self) {
        drop(self.0.lock().take());
    }
}

impl RemoteDriver {
    /// Waits for a turn; earlier callers get theirs first.
    pub(crate) async fn turn(&self) -> Turn {
        Turn(Mutex::new(self.permit().await))
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }
}

impl RemoteAttempt<'_> {
    /// Waits for a turn, if the run has left its own.
    pub(super) async fn take_turn(&self) {
        let has_turn = self.turn.0.lock().is_some();
        if !has_turn {
            let permit = self.driver.permit().await;
            *self.turn.0.lock() = permit;
        }
    }
}
