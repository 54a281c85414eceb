//! Policy checks.

use serde_json::{Value, json};

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::model::{Model, PolicyCheck, Run};
use super::super::phase::Phase;

fn document(run: &Run, check: &PolicyCheck) -> Value {
    let overridable = run.status == Phase::PolicyOverride;
    let failed = u8::from(matches!(check.status, "soft_failed" | "overridden"));
    let passed = check.status == "passed";
    json!({
        "id": check.id,
        "type": "policy-checks",
        "attributes": {
            "status": check.status,
            "scope": "organization",
            "result": {
                "result": passed, "passed": u8::from(passed),
                "total-failed": failed, "hard-failed": 0, "soft-failed": failed, "advisory-failed": 0,
                "sentinel": {"data": {"stub": {"policies": [
                    {"policy": {"name": "stub/limits-changes", "enforcement-level": "soft-mandatory"},
                     "result": passed},
                ]}}},
            },
            "actions": {"is-overridable": overridable},
            "permissions": {"can-override": true},
        },
        "relationships": {"run": {"data": {"type": "runs", "id": run.id}}},
    })
}

pub(super) fn list(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let run = model.run(id).ok_or_else(RefusedCall::not_found)?;
    let checks = run.policy.iter();
    Ok(call.page(checks.map(|check| document(run, check)).collect()))
}

pub(super) fn override_failed(model: &mut Model, id: &str) -> Answered {
    let has = |run: &Run| run.policy.as_ref().is_some_and(|check| check.id == id);
    let mut runs = model.runs.iter_mut();
    let run = runs
        .find(|run| has(run))
        .ok_or_else(RefusedCall::not_found)?;
    let is_overridable = run.status == Phase::PolicyOverride;
    let Some(check) = run.policy.as_mut().filter(|_| is_overridable) else {
        return Err(RefusedCall::transition());
    };
    check.status = "overridden";
    run.enter(Phase::PolicyChecked);
    let check = run.policy.as_ref().ok_or_else(RefusedCall::not_found)?;
    Ok(Reply::ok(document(run, check)))
}
