//! Plans and applies.

use serde_json::{Value, json};

use super::super::call::{Answered, Call, Refusal, Reply};
use super::super::model::{Model, Right, Run, Signed};
use super::super::settings::Flavour;

fn run<'a>(
    model: &'a Model,
    call: &Call<'_>,
    wanted: impl Fn(&Run) -> bool,
) -> Result<&'a Run, Refusal> {
    call.needs(Right::Read, model.settings.flavour)?;
    let mut runs = model.runs.iter();
    runs.find(|run| wanted(run)).ok_or_else(Refusal::not_found)
}

pub(super) fn get(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = run(model, call, |run| run.plan.id == id)?.clone();
    Ok(plan_document(model, &run))
}

pub(super) fn of_run(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = run(model, call, |run| run.id == id)?.clone();
    Ok(plan_document(model, &run))
}

fn plan_document(model: &mut Model, run: &Run) -> Reply {
    let log = model.signed.address(Signed::PlanLog(run.id.clone()));
    let mut attributes = run.plan.attributes(&log);
    attributes["has-changes"] = json!(run.has_changes);
    Reply::ok(json!({"id": run.plan.id, "type": "plans", "attributes": attributes}))
}

pub(super) fn get_apply(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = run(model, call, |run| run.apply.id == id)?.clone();
    Ok(apply_document(model, &run))
}

pub(super) fn apply_of_run(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = run(model, call, |run| run.id == id)?.clone();
    Ok(apply_document(model, &run))
}

fn apply_document(model: &mut Model, run: &Run) -> Reply {
    let log = model.signed.address(Signed::ApplyLog(run.id.clone()));
    let attributes = run.apply.attributes(&log);
    Reply::ok(json!({"id": run.apply.id, "type": "applies", "attributes": attributes}))
}

/// JSON of the plan: from a signed address, but inline at the open server.
pub(super) fn json(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = run(model, call, |run| run.plan.id == id)?;
    let content = run.plan_json.as_ref().ok_or_else(Refusal::not_found)?;
    if model.settings.flavour == Flavour::Otf {
        let plan: Value = serde_json::from_slice(content).unwrap_or_default();
        let mut reply = Reply::ok(Value::Null);
        reply.body = Some(plan);
        return Ok(reply);
    }
    let object = Signed::PlanJson(run.id.clone());
    Ok(Reply::redirect(model.signed.address(object)))
}
