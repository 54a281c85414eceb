//! The calls of the API: each changes what is remembered and gives an answer at once.

mod actions;
mod configurations;
mod organizations;
mod plans;
mod policies;
mod runs;
mod states;
mod tags;
mod variables;
mod workspaces;

use super::call::{Answered, Call, RefusedCall};
use super::model::Model;
use super::settings::ORGANIZATION;
pub(super) use configurations::{finish as finish_upload, upload as upload_configuration};
pub(super) use workspaces::with_name as workspace_with_name;

/// Answers a call of the API.
pub(super) fn answer(model: &mut Model, call: &Call<'_>) -> Answered {
    if let ["organizations", organization, ..] = call.path.as_slice()
        && *organization != ORGANIZATION
    {
        return Err(RefusedCall::not_found());
    }
    match (call.method.as_str(), call.path.as_slice()) {
        ("GET", ["ping"]) => Ok(organizations::ping()),
        ("GET", ["organizations", _, "entitlement-set"]) => Ok(organizations::entitlements()),
        ("GET", ["organizations", _, "agent-pools"]) => Ok(organizations::agent_pools(model, call)),
        ("GET", ["organizations", _, "workspaces"]) => Ok(workspaces::list(model, call)),
        ("POST", ["organizations", _, "workspaces"]) => workspaces::create(model, call),
        (_, ["organizations", _, "workspaces", name, rest @ ..]) => {
            let known = model
                .workspace_named(name)
                .ok_or_else(RefusedCall::not_found)?;
            let id = known.id.clone();
            workspace(model, call, &id, rest)
        }
        (_, ["workspaces", id, rest @ ..]) => workspace(model, call, id, rest),
        ("GET", ["configuration-versions", id]) => configurations::get(model, id),
        ("POST", ["runs"]) => runs::create(model, call),
        ("GET", ["runs", id]) => runs::get(model, id),
        ("GET", ["runs", id, "policy-checks"]) => policies::list(model, call, id),
        ("GET", ["runs", id, "run-events"]) => runs::events(model, call, id),
        ("GET", ["users", id]) => Ok(runs::user(id)),
        ("GET", ["runs", id, "task-stages"]) => runs::task_stages(model, call, id),
        ("POST", ["runs", id, "actions", "apply"]) => actions::apply(model, id),
        ("POST", ["runs", id, "actions", "discard"]) => actions::discard(model, call, id),
        ("POST", ["runs", id, "actions", "cancel"]) => actions::cancel(model, call, id),
        ("POST", ["runs", id, "actions", "force-cancel"]) => actions::force_cancel(model, call, id),
        ("GET", ["plans", id]) => plans::get(model, id),
        ("GET", ["applies", id]) => plans::get_apply(model, id),
        ("POST", ["policy-checks", id, "actions", "override"]) => {
            policies::override_failed(model, id)
        }
        _ => Err(RefusedCall::not_found()),
    }
}

/// Answers a call below a workspace.
fn workspace(model: &mut Model, call: &Call<'_>, id: &str, rest: &[&str]) -> Answered {
    if model.workspace(id).is_none() {
        return Err(RefusedCall::not_found());
    }
    match (call.method.as_str(), rest) {
        ("GET", []) => workspaces::get(model, call, id),
        ("PATCH", []) => workspaces::update(model, call, id),
        ("DELETE", []) => Ok(workspaces::delete(model, id)),
        ("POST", ["actions", "safe-delete"]) => workspaces::safe_delete(model, id),
        ("POST", ["actions", "lock"]) => workspaces::lock(model, call, id),
        ("POST", ["actions", "unlock"]) => workspaces::unlock(model, call, id),
        ("POST", ["actions", "force-unlock"]) => workspaces::force_unlock(model, call, id),
        ("GET", ["relationships", "tags"]) => tags::list(model, call, id),
        ("POST", ["relationships", "tags"]) => tags::add(model, call, id),
        ("DELETE", ["relationships", "tags"]) => tags::remove(model, call, id),
        ("GET", ["vars"]) => variables::list(model, call, id),
        ("POST", ["vars"]) => variables::create(model, call, id),
        ("PATCH", ["vars", variable]) => variables::update(model, call, id, variable),
        ("DELETE", ["vars", variable]) => variables::delete(model, id, variable),
        ("POST", ["configuration-versions"]) => configurations::create(model, call, id),
        ("GET", ["runs"]) => Ok(runs::list(model, call, id)),
        ("GET", ["current-state-version"]) => states::current(model, call, id),
        ("POST", ["state-versions"]) => states::create(model, call, id),
        _ => Err(RefusedCall::not_found()),
    }
}
