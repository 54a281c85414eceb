//! Actions on runs.

use axum::http::StatusCode;
use chrono::{DateTime, Utc};

use super::super::call::{Answered, Call, Refusal, Reply};
use super::super::model::{Cancel, Model, Right, Run, now};
use super::super::phase::Phase;
use super::super::settings::Flavour;

const ACCEPTED: Reply = Reply::empty(StatusCode::ACCEPTED);

fn checked<'a>(
    model: &'a mut Model,
    call: &Call<'_>,
    id: &str,
    right: Right,
) -> Result<&'a mut Run, Refusal> {
    call.needs(right, model.settings.flavour)?;
    model.run_mut(id).ok_or_else(Refusal::not_found)
}

pub(super) fn apply(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let flavour = model.settings.flavour;
    let run = checked(model, call, id, Right::ApplyRuns)?;
    if !run.confirmable {
        return Err(Refusal::transition(flavour));
    }
    run.enter(Phase::Confirmed);
    Ok(ACCEPTED)
}

pub(super) fn discard(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let flavour = model.settings.flavour;
    let run = checked(model, call, id, Right::QueueRuns)?;
    if !run.is_discardable() {
        return Err(Refusal::transition(flavour));
    }
    run.note("discarded", call.caller);
    model.end_run(id, Phase::Discarded);
    Ok(ACCEPTED)
}

pub(super) fn cancel(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let everywhere = cancels_everywhere(model);
    let run = checked(model, call, id, Right::QueueRuns)?;
    if !run.is_cancelable(everywhere) {
        return Err(Refusal::conflict("transition not allowed"));
    }
    run.note("canceled", call.caller);
    run.cancel = Cancel::Asked(now());
    Ok(ACCEPTED)
}

pub(super) fn force_cancel(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let flavour = model.settings.flavour;
    checked(model, call, id, Right::QueueRuns)?;
    let forcible = model
        .run(id)
        .is_some_and(|run| is_force_cancelable(model, run));
    let run = checked(model, call, id, Right::QueueRuns)?;
    if !forcible {
        return Err(Refusal::transition(flavour));
    }
    run.note("force_canceled", call.caller);
    run.cancel = Cancel::Forced(now());
    Ok(ACCEPTED)
}

/// The open server cancels waiting runs, too.
pub(super) fn cancels_everywhere(model: &Model) -> bool {
    model.settings.flavour == Flavour::Otf
}

pub(super) fn force_cancel_at(model: &Model, run: &Run) -> Option<DateTime<Utc>> {
    match run.cancel {
        Cancel::Asked(at) => Some(at + model.settings.force_cancel_after),
        Cancel::Not | Cancel::Forced(_) => None,
    }
}

pub(super) fn is_force_cancelable(model: &Model, run: &Run) -> bool {
    !run.status.is_end() && force_cancel_at(model, run).is_some_and(|at| at <= now())
}
