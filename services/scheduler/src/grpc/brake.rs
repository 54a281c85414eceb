//! The brake of the fleet in answers, and its release.

use std::sync::Arc;

use cts_core::brake::{BrakedRun, FleetLoss};
use cts_core::callers::AuditAction;
use cts_proto::cluster::v1 as proto;
use cts_rpc::convert;
use cts_store::{BrakeError, SeenBrake, Store, StoredBrake};
use tonic::{Code, Request, Status};

use crate::audit::recorder::{note, outcome_of, record};
use crate::notifier::Notifier;
use crate::status::OrStatus as _;
use crate::tasks::refusal::declined;

/// Most losses of an answer.
const LOSSES: usize = 20;

pub(super) fn brake_to_wire(brake: StoredBrake) -> proto::Brake {
    let fleet = brake.fleet;
    let mut losses = fleet.losses();
    let more = losses.len().saturating_sub(LOSSES);
    losses.truncate(LOSSES);
    proto::Brake {
        configured: fleet.setting.is_some(),
        set: fleet.is_set(),
        since: fleet.set_at.map(convert::timestamp_to_wire),
        lost: fleet.lost,
        of: fleet.of,
        limit: fleet.limit(),
        losses: losses.into_iter().map(loss_to_wire).collect(),
        more_losses: u32::try_from(more).unwrap_or(u32::MAX),
        held: brake.held,
        leased: fleet.leased.into_iter().map(run_to_wire).collect(),
    }
}

fn loss_to_wire(loss: FleetLoss) -> proto::BrakeLoss {
    proto::BrakeLoss {
        service: loss.service,
        datacenter: loss.datacenter,
        before: loss.before,
        now: loss.now,
    }
}

fn run_to_wire(run: BrakedRun) -> proto::BrakeRun {
    proto::BrakeRun {
        task_name: run.task.to_string(),
        run_id: run.run.to_string(),
        address: run.address.unwrap_or_default(),
        to_confirm: run.to_confirm,
    }
}

/// Releases the brake for a caller, with a record of the call.
pub(super) async fn release(
    store: &Arc<dyn Store>,
    notifier: &Notifier,
    request: Request<proto::ReleaseBrakeRequest>,
) -> Result<proto::ReleaseBrakeResponse, Status> {
    let record = record(&request, AuditAction::ReleaseBrake, "");
    let seen = request.into_inner().seen.map(|seen| SeenBrake {
        lost: seen.lost,
        of: seen.of,
    });
    let recording = store.recording(record.clone());
    let released = match recording.release_brake(seen).await {
        Ok(released) => Ok(released),
        Err(error @ BrakeError::LostMore { .. }) => {
            Err(declined(Code::Aborted, "lost_more", error.to_string()))
        }
        Err(BrakeError::Store(error)) => Err(error).or_status(),
    };
    let released = match released {
        Ok(released) => released,
        Err(status) => {
            note(store, record, outcome_of(&status)).await;
            return Err(status);
        }
    };
    if let Some(brake) = &released {
        let fleet = &brake.fleet;
        let requested_by = record.caller.to_string();
        tracing::warn!(target: "ctrl", lost = fleet.lost, of = fleet.of, tasks = brake.held, requested_by, "the brake of the fleet is released: the tasks that it held run with the instances that are left");
        notifier.brake_changed();
    }
    Ok(proto::ReleaseBrakeResponse {
        released: released.map(brake_to_wire),
    })
}
