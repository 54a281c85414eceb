//! Whether a call comes from the process that owns the worker id (docs/access.md#ids-of-workers).
//!
//! The row of an id has the SHA-256 of the registration in its first heartbeat (`workers.registration`). The answer
//! has the secret for `AcquireRun`, so a worker requests runs only after that answer.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cts_core::lease::LeaseKey;
use cts_core::{KnownRegistration, Registration, WorkerId, WorkerRecord, excerpt};
use cts_proto::run::v1::AcquireRunRequest;
use cts_store::{Heartbeat, Store};
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::Status;

use crate::grpc::lease_proofs::LeaseProofs;
use crate::status::OrStatus as _;

/// Checks the registrations of workers, and makes their secrets. Clones share the log of refusals.
#[derive(Debug, Clone)]
pub(crate) struct Registrations {
    store: Arc<dyn Store>,
    key: LeaseKey,
    /// Whether ids without a heartbeat get no runs.
    required: bool,
    logged: Arc<Mutex<Logged>>,
}

/// The reason for which a call of a worker is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RegistrationRefusal {
    /// The id belongs to a process with a different registration.
    Foreign,
    /// The id has a registration, and the call has no secret or a wrong secret.
    Secret,
    /// A heartbeat with this id has not arrived.
    Unregistered,
    /// The worker does not report its settings.
    NoSettings,
}

/// Time after which a refusal is logged again, and the number of refusals in that time that are.
const LOGGED_AGAIN: Duration = Duration::from_mins(10);
const LOGGED_AT_MOST: usize = 100;

/// Characters of an id in a text.
const ID_LENGTH: usize = 100;

/// The refusals that were logged.
#[derive(Debug)]
struct Logged {
    since: Instant,
    refusals: HashSet<(String, RegistrationRefusal)>,
}

impl Registrations {
    /// Over the key and the strictness of the secrets of leases.
    pub(crate) fn new(store: Arc<dyn Store>, proofs: &LeaseProofs) -> Self {
        Self {
            store,
            key: proofs.key.clone(),
            required: proofs.required,
            logged: Arc::new(Mutex::new(Logged {
                since: Instant::now(),
                refusals: HashSet::new(),
            })),
        }
    }

    /// Stores the heartbeat of a worker that owns its id. Returns whether the worker is to drain.
    pub(crate) async fn note(
        &self,
        worker: &WorkerRecord,
        registration: Option<&Registration>,
    ) -> Result<bool, Status> {
        let digest = registration.map(Registration::digest);
        match self
            .store
            .record_heartbeat(worker, digest)
            .await
            .or_status()?
        {
            Heartbeat::Noted { drains } => Ok(drains),
            Heartbeat::Foreign => Err(self.refuse(&worker.id, RegistrationRefusal::Foreign)),
        }
    }

    /// Refuses a heartbeat that is not from the process that the id belongs to.
    pub(crate) async fn owned(
        &self,
        worker: &WorkerId,
        registration: Option<&Registration>,
    ) -> Result<(), Status> {
        let known = self.store.registration(worker).await.or_status()?;
        if known.admits(registration.map(Registration::digest)) {
            return Ok(());
        }
        Err(self.refuse(worker, RegistrationRefusal::Foreign))
    }

    /// Refuses a call for a run that is not from the process that the id belongs to. Without
    /// `security.service_roles` a worker without registration needs no secret.
    pub(crate) async fn admit(
        &self,
        worker: &WorkerId,
        request: &AcquireRunRequest,
    ) -> Result<(), Status> {
        if self.required && !request.reports_settings {
            return Err(self.refuse(worker, RegistrationRefusal::NoSettings));
        }
        let refusal = match self.store.registration(worker).await.or_status()? {
            KnownRegistration::Of(digest) => {
                let secret = self.key.registration_secret(worker, digest);
                (!secret.is(&request.registration_secret)).then_some(RegistrationRefusal::Secret)
            }
            KnownRegistration::Absent | KnownRegistration::Unproven => {
                self.required.then_some(RegistrationRefusal::Unregistered)
            }
        };
        refusal.map_or(Ok(()), |refusal| Err(self.refuse(worker, refusal)))
    }

    /// The secret for the calls of a worker; empty without a registration.
    pub(crate) fn secret(&self, worker: &WorkerId, registration: Option<&Registration>) -> Vec<u8> {
        let secret = registration.map(|registration| {
            let secret = self.key.registration_secret(worker, registration.digest());
            secret.expose().to_vec()
        });
        secret.unwrap_or_default()
    }

    /// The status of a refused call. Each worker and reason is logged once in [`LOGGED_AGAIN`].
    fn refuse(&self, worker: &WorkerId, refusal: RegistrationRefusal) -> Status {
        let id = excerpt(worker.as_str(), ID_LENGTH);
        if self.logged.lock().is_new(&id, refusal) {
            tracing::warn!(worker.id = id, reason = %refusal, "a call of a worker is refused: {}", refusal.remedy());
        } else {
            tracing::debug!(worker.id = id, reason = %refusal, "a call of a worker is refused");
        }
        Status::permission_denied(format!("worker {id:?}: {refusal}; {}", refusal.remedy()))
    }
}

impl Logged {
    /// Whether a refusal is to be logged.
    fn is_new(&mut self, worker: &str, refusal: RegistrationRefusal) -> bool {
        if self.since.elapsed() >= LOGGED_AGAIN {
            self.since = Instant::now();
            self.refusals.clear();
        }
        self.refusals.len() < LOGGED_AT_MOST && self.refusals.insert((worker.to_owned(), refusal))
    }
}

impl RegistrationRefusal {
    /// The next step of an operator.
    const fn remedy(self) -> &'static str {
        match self {
            Self::Foreign => {
                "end the process that calls; if it is a cts worker, start it again, so that it gets an id of its own"
            }
            Self::Secret => {
                "a worker gets the secret with the answer to its next heartbeat; if this is logged again, end the process that calls"
            }
            Self::Unregistered => {
                "a worker registers with its next heartbeat; if this is logged again, end the process that calls"
            }
            Self::NoSettings => "update the worker",
        }
    }
}

impl fmt::Display for RegistrationRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "the id belongs to a process with a different registration",
            Self::Secret => "the call does not have the secret of the registration of the id",
            Self::Unregistered => {
                "the id is not registered by a heartbeat (security.service_roles)"
            }
            Self::NoSettings => "the worker does not report its settings (security.service_roles)",
        })
    }
}
