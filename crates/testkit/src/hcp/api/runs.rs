//! Runs.

use serde_json::{Value, json};

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::model::{Model, Run};

/// Puts a run behind those of its workspace.
pub(super) fn queue(model: &mut Model, mut run: Run) {
    let workspace = model.workspace(&run.workspace);
    let applies_by_itself = workspace.is_some_and(|workspace| workspace.flag("auto-apply"));
    run.auto_apply = applies_by_itself && !run.plan_only;
    run.enter(run.status);
    model.created_runs.push(run.id.clone());
    model.runs.push(run);
}

pub(super) fn create(model: &mut Model, call: &Call<'_>) -> Answered {
    let attributes = call.attributes("runs")?;
    let id = call.related("workspace").unwrap_or_default();
    let workspace = model.workspace(id).ok_or_else(RefusedCall::not_found)?;
    if workspace.mode() == "local" {
        let detail = "Runs cannot be created in workspaces with local execution";
        return Err(RefusedCall::invalid("workspace", detail));
    }
    let own = |id: &str| {
        let mut known = model.configurations.iter().rev();
        known.find(|known| known.workspace == workspace.id && known.id == id)
    };
    let latest = || {
        let mut uploaded = model.configurations.iter().rev();
        uploaded.find(|known| {
            known.workspace == workspace.id && known.status == "uploaded" && !known.speculative
        })
    };
    let configuration = match call.related("configuration-version") {
        Some(id) => own(id).ok_or_else(RefusedCall::not_found)?,
        None => latest().ok_or_else(|| {
            RefusedCall::invalid("configuration_version", "Configuration version is missing")
        })?,
    };
    if matches!(configuration.status, "pending" | "errored") {
        let detail = "Configuration version is not uploaded";
        return Err(RefusedCall::invalid("configuration_version", detail));
    }
    let mut run = Run::new(id, &configuration.id, &call.caller.name, &attributes);
    if run.variables.iter().any(|(key, _)| key.is_empty()) {
        return Err(RefusedCall::invalid("variables", "Variables need a key"));
    }
    if model.ignores_run_variables {
        run.variables.clear();
    }
    run.plan_only |= configuration.speculative;
    let id = run.id.clone();
    queue(model, run);
    let run = model.run(&id).ok_or_else(RefusedCall::not_found)?;
    Ok(Reply::created(document(model, run)))
}

pub(super) fn get(model: &Model, id: &str) -> Answered {
    let run = model.run(id).ok_or_else(RefusedCall::not_found)?;
    Ok(Reply::ok(document(model, run)))
}

/// The newest come first.
pub(super) fn list(model: &Model, call: &Call<'_>, id: &str) -> Reply {
    let text = call.parameter("search[basic]").unwrap_or_default();
    let runs = model.runs.iter().rev();
    let found = runs.filter(|run| run.workspace == id && run.message.contains(text));
    call.page(found.map(|run| document(model, run)).collect())
}

pub(super) fn task_stages(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    model.run(id).ok_or_else(RefusedCall::not_found)?;
    Ok(call.page(Vec::new()))
}

pub(super) fn events(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let run = model.run(id).ok_or_else(RefusedCall::not_found)?;
    let events = run.events.iter().enumerate();
    let events = events.map(|(at, (action, user))| {
        json!({
            "id": format!("re-{at}"), "type": "run-events", "attributes": {"action": action},
            "relationships": {"actor": {"data": {"type": "users", "id": user}}},
        })
    });
    Ok(call.page(events.collect()))
}

/// Users have their names as identifiers.
pub(super) fn user(id: &str) -> Reply {
    let user = json!({"id": id, "type": "users", "attributes": {"username": id}});
    Reply::ok(user)
}

fn document(model: &Model, run: &Run) -> Value {
    let mut document = run.document(&json!({
        "is-cancelable": run.is_cancelable(),
        "is-confirmable": run.confirmable,
        "is-discardable": run.is_discardable(),
        "is-force-cancelable": super::actions::is_force_cancelable(run),
    }));
    if let Some(name) = model.renamed.get(&run.status) {
        document["attributes"]["status"] = json!(name);
    }
    document
}
