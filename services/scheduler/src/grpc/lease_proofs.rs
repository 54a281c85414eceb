//! Proofs that a worker holds the lease of the run in its call (docs/access.md#leases).
//!
//! A granted lease comes with a secret, an HMAC of run, epoch and worker under a key in the database. The worker sends
//! the secret as metadata with each call for the run, so calls of a worker are accepted only for runs that it has
//! leased.

use cts_core::lease::LeaseKey;
use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_rpc::admission::lease_proof;
use cts_rpc::convert;
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::wire::holder;

/// Makes the secrets of leases, and checks them.
#[derive(Debug, Clone)]
pub(crate) struct LeaseProofs {
    pub(crate) key: LeaseKey,
    /// Whether calls without a proof are refused.
    pub(crate) required: bool,
}

/// The lease that a call is made under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) run: RunId,
    pub(crate) holder: WorkerId,
    pub(crate) epoch: LeaseEpoch,
}

impl LeaseProofs {
    /// The secret of a granted lease.
    pub(crate) fn secret(&self, lease: &cts_store::Lease) -> Vec<u8> {
        let secret = self.key.secret(lease.run, lease.epoch, &lease.holder);
        secret.to_vec()
    }

    /// The lease that the metadata of a call proves; `None` for a worker of the version before, as long as that is
    /// allowed.
    pub(crate) fn proven(&self, metadata: &MetadataMap) -> Result<Option<Held>, Status> {
        let Some(proof) = lease_proof(metadata)? else {
            if self.required {
                return Err(Status::permission_denied(
                    "this call needs the proof of a lease (security.service_roles), which workers of this version send",
                ));
            }
            return Ok(None);
        };
        let proven = Held {
            run: convert::run_id(&proof.run_id)?,
            holder: holder(proof.worker_id)?,
            epoch: convert::lease_epoch(proof.epoch)?,
        };
        let Held { run, holder, epoch } = &proven;
        if !self.key.proves(*run, *epoch, holder, &proof.secret) {
            return Err(Status::permission_denied(format!(
                "the proof of a lease of run {run} is wrong"
            )));
        }
        Ok(Some(proven))
    }

    /// Returns the lease named by the call; refuses a proof for a different lease.
    pub(crate) fn held(
        &self,
        metadata: &MetadataMap,
        run: &str,
        worker: String,
        epoch: u64,
    ) -> Result<Held, Status> {
        let named = Held {
            run: convert::run_id(run)?,
            holder: holder(worker)?,
            epoch: convert::lease_epoch(epoch)?,
        };
        match self.proven(metadata)? {
            Some(proven) if proven != named => Err(Status::permission_denied(format!(
                "the call is for run {run}, and proves the lease of run {} in epoch {}",
                proven.run,
                proven.epoch.get()
            ))),
            _ => Ok(named),
        }
    }
}
