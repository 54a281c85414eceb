//! The registration of this worker at the schedulers.

use std::sync::Arc;

use cts_core::{Registration, RegistrationSecret};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The registration that heartbeats send, and the secret from their answers. Cheap to clone; clones share the secret.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    registration: Registration,
    /// Absent until a scheduler that makes secrets has answered.
    secret: Arc<Mutex<Option<RegistrationSecret>>>,
    /// Whether a scheduler has answered a heartbeat.
    answered: Arc<watch::Sender<bool>>,
}

impl Registered {
    pub(crate) fn new(registration: Registration) -> Self {
        Self {
            registration,
            secret: Arc::default(),
            answered: Arc::new(watch::Sender::new(false)),
        }
    }

    /// The secret for a heartbeat.
    pub(crate) fn registration(&self) -> Vec<u8> {
        self.registration.expose().to_vec()
    }

    /// The secret for a call for a run; empty without a secret.
    pub(crate) fn secret(&self) -> Vec<u8> {
        let secret = self.secret.lock();
        let secret = secret.as_ref().map(|secret| secret.expose().to_vec());
        secret.unwrap_or_default()
    }

    /// Takes the secret of an answer. Without one the last secret stays.
    pub(crate) fn answered(&self, secret: &[u8]) {
        if let Some(secret) = RegistrationSecret::from_slice(secret) {
            *self.secret.lock() = Some(secret);
        }
        self.answered.send_replace(true);
    }

    /// Returns once a scheduler has answered a heartbeat.
    pub(crate) async fn first_answer(&self) {
        let mut answered = self.answered.subscribe();
        // The sender is part of `self`, so the wait cannot fail.
        drop(answered.wait_for(|answered| *answered).await);
    }
}
