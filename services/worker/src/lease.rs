//! A lease: the right of a worker to one attempt at one run, for a limited time.

use std::mem;
use std::time::Duration;

use cts_core::lease::PlanKey;
use cts_core::runs::RunKind;
use cts_core::state::StateRecord;
use cts_core::{
    Delivery, IgnoredAttribute, LeaseEpoch, RunId, TaskTimeouts, TraceContext, WorkerId,
};
use cts_proto::run::v1 as proto;
use cts_rpc::{ConversionError, convert};
use parking_lot::Mutex;

/// A lease as the scheduler has granted it.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) run: RunId,
    /// For logs; the task itself is in the input.
    pub(crate) task_name: String,
    pub(crate) epoch: LeaseEpoch,
    /// Number of this attempt, from 1.
    pub(crate) attempt: u32,
    /// The kind of the run. An unknown kind makes the attempt fail, so that nothing is applied by mistake.
    pub(crate) kind: Result<RunKind, ConversionError>,
    pub(crate) timeouts: TaskTimeouts,
    pub(crate) time_to_live: Duration,
    /// How long the call had waited for the grant, or less.
    pub(crate) waited: Duration,
    pub(crate) input: FrozenInput,
    /// The delivery to the receivers of webhooks; `None` where nothing is applied.
    pub(crate) delivery: Option<Delivery>,
    /// The record of the task's state; A decision that this version does not
    /// know makes the attempt fail.
    pub(crate) state: Result<Option<StateRecord>, ConversionError>,
    /// The span of the lease; `None` without tracing.
    pub(crate) trace: Option<TraceContext>,
    /// Proves in calls that this worker holds the lease.
    pub(crate) proof: proto::LeaseProof,
    /// The key for the fingerprints of plans; `None` from a scheduler that keeps no plans.
    pub(crate) plan_key: Option<PlanKey>,
    /// Attributes that are not part of the effect of a plan. A text that this version does not know is left out: more
    /// needs consent then.
    pub(crate) ignored: Vec<IgnoredAttribute>,
    /// The run is to end: only its remote run is ended.
    pub(crate) ends_remote_run: bool,
    /// The run changes something only with permission for its plan.
    pub(crate) asks_permission: bool,
}

/// How the lease of an attempt was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseEnd {
    /// A scheduler reports that the lease is over: another attempt may be at work already.
    Refused,
    /// No scheduler has renewed the lease in time. The lease may still be in force.
    Unanswered,
    /// This process stood still until it was too late to renew.
    Stalled,
}

/// The input of a run, as far as the lease has it.
#[derive(Debug)]
pub(crate) struct FrozenInput {
    /// Hash of the whole.
    pub(crate) hash: String,
    contents: Mutex<Vec<NamedContent>>,
}

impl FrozenInput {
    /// Contents in order, some with their bytes; if empty, they are to be fetched by the hash of the whole. The lease
    /// has them no longer: they are of no use once the input is read.
    pub(crate) fn take_contents(&self) -> Vec<NamedContent> {
        mem::take(&mut *self.contents.lock())
    }
}

/// A content of an input, by its hash.
#[derive(Debug)]
pub(crate) struct NamedContent {
    pub(crate) hash: String,
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Lease {
    /// A lease that `worker` was granted.
    pub(crate) fn granted(lease: proto::Lease, worker: &WorkerId) -> Result<Self, ConversionError> {
        let proof = proto::LeaseProof {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: worker.to_string(),
            secret: lease.secret.clone(),
        };
        let kind = convert::kind_of_lease(&lease);
        let delivery = if lease.delivery == 0 {
            None
        } else {
            Some(Delivery {
                number: lease.delivery,
                first_run: convert::run_id(&lease.delivery_first_run)?,
            })
        };
        let contents = lease.contents.into_iter().map(|content| NamedContent {
            hash: content.hash,
            bytes: content.content,
        });
        let ignored = lease.ignored_attributes.iter();
        Ok(Self {
            run: convert::run_id(&lease.run_id)?,
            task_name: lease.task_name,
            epoch: convert::lease_epoch(lease.epoch)?,
            attempt: lease.attempt,
            kind,
            timeouts: convert::timeouts_from_wire(lease.timeouts.as_ref()),
            time_to_live: convert::duration_from_wire(lease.time_to_live.as_ref()),
            waited: convert::duration_from_wire(lease.waited.as_ref()),
            input: FrozenInput {
                hash: lease.input_hash,
                contents: Mutex::new(contents.collect()),
            },
            delivery,
            state: convert::known_state_from_wire(lease.state),
            trace: lease.traceparent.parse().ok(),
            proof,
            plan_key: PlanKey::from_slice(&lease.plan_key).ok(),
            ignored: ignored.filter_map(|it| it.parse().ok()).collect(),
            ends_remote_run: lease.ends_remote_run,
            asks_permission: lease.asks_permission,
        })
    }
}
