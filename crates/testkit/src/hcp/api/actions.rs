//! Actions on runs.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::Instant;

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::model::{Cancel, Model, Run};
use super::super::phase::Phase;

/// Time between cancel and the permission to force it.
const FORCE_AFTER: Duration = Duration::from_secs(1);

const ACCEPTED: Reply = Reply::empty(StatusCode::ACCEPTED);

fn found<'a>(model: &'a mut Model, id: &str) -> Result<&'a mut Run, RefusedCall> {
    model.run_mut(id).ok_or_else(RefusedCall::not_found)
}

pub(super) fn apply(model: &mut Model, id: &str) -> Answered {
    let run = found(model, id)?;
    if !run.confirmable {
        return Err(RefusedCall::transition());
    }
    run.enter(Phase::Confirmed);
    Ok(ACCEPTED)
}

pub(super) fn discard(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = found(model, id)?;
    if !run.is_discardable() {
        return Err(RefusedCall::transition());
    }
    run.note("discarded", call.caller);
    model.end_run(id, Phase::Discarded);
    Ok(ACCEPTED)
}

pub(super) fn cancel(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = found(model, id)?;
    if !run.is_cancelable() {
        return Err(RefusedCall::transition());
    }
    run.note("canceled", call.caller);
    run.cancel = Cancel::Requested(Instant::now());
    Ok(ACCEPTED)
}

pub(super) fn force_cancel(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = found(model, id)?;
    if !is_force_cancelable(run) {
        return Err(RefusedCall::transition());
    }
    run.note("force_canceled", call.caller);
    run.cancel = Cancel::Forced;
    Ok(ACCEPTED)
}

pub(super) fn is_force_cancelable(run: &Run) -> bool {
    let is_due = matches!(run.cancel, Cancel::Requested(at) if at.elapsed() >= FORCE_AFTER);
    is_due && !run.status.is_end()
}
