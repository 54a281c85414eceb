//! Policy checks.

use serde_json::{Value, json};

use super::super::call::{Answered, Call, Refusal, Reply};
use super::super::model::{Model, PolicyCheck, Right, Run, Signed};
use super::super::phase::Phase;

fn position(model: &Model, call: &Call<'_>, id: &str) -> Result<usize, Refusal> {
    call.needs(Right::Read, model.settings.flavour)?;
    let has = |run: &Run| run.policy.as_ref().is_some_and(|check| check.id == id);
    let found = model.runs.iter().position(has);
    found.ok_or_else(Refusal::not_found)
}

fn document(call: &Call<'_>, run: &Run, check: &PolicyCheck) -> Value {
    let overridable = run.status == Phase::PolicyOverride;
    let count = |wanted: &str| u8::from(check.status == wanted);
    let passed = check.status == "passed";
    json!({
        "id": check.id,
        "type": "policy-checks",
        "attributes": {
            "status": check.status,
            "scope": "organization",
            "result": {
                "result": passed, "passed": u8::from(passed),
                "total-failed": u8::from(matches!(check.status, "soft_failed" | "hard_failed" | "overridden")),
                "hard-failed": count("hard_failed"),
                "soft-failed": count("soft_failed") + count("overridden"), "advisory-failed": 0,
                "sentinel": {"data": {"stub": {"policies": [
                    {"policy": {"name": "stub/limits-changes", "enforcement-level": "soft-mandatory"},
                     "result": passed},
                ]}}},
            },
            "actions": {"is-overridable": overridable},
            "permissions": {"can-override": call.caller.may(Right::OverridePolicies)},
        },
        "relationships": {"run": {"data": {"type": "runs", "id": run.id}}},
    })
}

pub(super) fn list(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::Read, model.settings.flavour)?;
    let run = model.run(id).ok_or_else(Refusal::not_found)?;
    let checks = run.policy.iter();
    Ok(call.page(checks.map(|check| document(call, run, check)).collect()))
}

pub(super) fn get(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let run = &model.runs[position(model, call, id)?];
    let check = run.policy.as_ref().ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(document(call, run, check)))
}

pub(super) fn output(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let run = model.runs[position(model, call, id)?].id.clone();
    Ok(Reply::redirect(
        model.signed.address(Signed::PolicyLog(run)),
    ))
}

pub(super) fn override_failed(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::OverridePolicies, model.settings.flavour)?;
    let position = position(model, call, id)?;
    let run = &mut model.runs[position];
    let Some(check) = run
        .policy
        .as_mut()
        .filter(|_| run.status == Phase::PolicyOverride)
    else {
        return Err(Refusal::transition(model.settings.flavour));
    };
    check.status = "overridden";
    run.enter(Phase::PolicyChecked);
    get(model, call, id)
}
