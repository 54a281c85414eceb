//! Plans and applies.

use serde_json::{Value, json};

use super::super::call::{Answered, RefusedCall, Reply};
use super::super::model::{Model, Run, Signed};

fn run(model: &Model, wanted: impl Fn(&Run) -> bool) -> Result<Run, RefusedCall> {
    let mut runs = model.runs.iter();
    let found = runs.find(|run| wanted(run)).cloned();
    found.ok_or_else(RefusedCall::not_found)
}

pub(super) fn get(model: &mut Model, id: &str) -> Answered {
    let run = run(model, |run| run.plan.id == id)?;
    let log = model.signed.address(Signed::PlanLog(run.id));
    let mut attributes = run.plan.attributes(&log);
    attributes["has-changes"] = json!(run.has_changes);
    Ok(reply("plans", &run.plan.id, &attributes))
}

pub(super) fn get_apply(model: &mut Model, id: &str) -> Answered {
    let run = run(model, |run| run.apply.id == id)?;
    let log = model.signed.address(Signed::ApplyLog(run.id));
    Ok(reply("applies", &run.apply.id, &run.apply.attributes(&log)))
}

fn reply(kind: &str, id: &str, attributes: &Value) -> Reply {
    Reply::ok(json!({"id": id, "type": kind, "attributes": attributes}))
}
