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

use super::call::{Answered, Call, Refusal};
use super::model::Model;
pub(super) use configurations::{finish as finish_upload, upload as upload_configuration};
pub(super) use states::upload as upload_state;
pub(super) use workspaces::with_name as workspace_with_name;

/// Answers a call of the API.
pub(super) fn answer(model: &mut Model, call: &Call<'_>) -> Answered {
    let name = &model.settings.organization;
    if let ["organizations", organization, ..] = call.path.as_slice()
        && organization != name
    {
        return Err(Refusal::not_found());
    }
    match (call.method.as_str(), call.path.as_slice()) {
        ("GET", ["ping"]) => Ok(organizations::ping()),
        ("GET", ["organizations"]) => Ok(organizations::list(model, call)),
        ("GET", ["organizations", _]) => Ok(organizations::get(model)),
        ("GET", ["organizations", _, "entitlement-set"]) => Ok(organizations::entitlements(model)),
        ("GET", ["organizations", _, "projects"]) => Ok(organizations::projects(model, call)),
        ("GET", ["projects", id]) => organizations::project(model, id),
        ("GET", ["organizations", _, "agent-pools"]) => organizations::agent_pools(model, call),
        ("GET", ["agent-pools", id]) => organizations::agent_pool(model, id),
        ("GET", ["organizations", _, "tags"]) => tags::of_organization(model, call),
        ("GET", ["organizations", _, "workspaces"]) => workspaces::list(model, call),
        ("POST", ["organizations", _, "workspaces"]) => workspaces::create(model, call),
        (_, ["organizations", _, "workspaces", name, rest @ ..]) => {
            let known = model.workspace_named(name).ok_or_else(Refusal::not_found)?;
            let id = known.id.clone();
            workspace(model, call, &id, rest)
        }
        (_, ["workspaces", id, rest @ ..]) => workspace(model, call, id, rest),
        ("GET", ["configuration-versions", id]) => configurations::get(model, call, id),
        ("GET", ["configuration-versions", id, "download"]) => {
            configurations::download(model, call, id)
        }
        ("POST", ["runs"]) => runs::create(model, call),
        ("GET", ["runs", id]) => runs::get(model, call, id),
        ("GET", ["runs", id, "plan"]) => plans::of_run(model, call, id),
        ("GET", ["runs", id, "apply"]) => plans::apply_of_run(model, call, id),
        ("GET", ["runs", id, "policy-checks"]) => policies::list(model, call, id),
        ("GET", ["runs", id, "run-events"]) => runs::events(model, call, id),
        ("GET", ["users", id]) => Ok(runs::user(id)),
        ("GET", ["runs", id, "task-stages"]) => runs::task_stages(model, call, id),
        ("POST", ["runs", id, "actions", "apply"]) => actions::apply(model, call, id),
        ("POST", ["runs", id, "actions", "discard"]) => actions::discard(model, call, id),
        ("POST", ["runs", id, "actions", "cancel"]) => actions::cancel(model, call, id),
        ("POST", ["runs", id, "actions", "force-cancel"]) => actions::force_cancel(model, call, id),
        ("GET", ["plans", id]) => plans::get(model, call, id),
        ("GET", ["plans", id, "json-output"]) => plans::json(model, call, id),
        ("GET", ["applies", id]) => plans::get_apply(model, call, id),
        ("GET", ["policy-checks", id]) => policies::get(model, call, id),
        ("GET", ["policy-checks", id, "output"]) => policies::output(model, call, id),
        ("POST", ["policy-checks", id, "actions", "override"]) => {
            policies::override_failed(model, call, id)
        }
        ("GET", ["state-versions"]) => states::list(model, call),
        ("GET", ["state-versions", id]) => states::get(model, call, id),
        ("GET", ["state-versions", id, "hosted_state"]) => states::redirect(model, call, id),
        _ => Err(Refusal::not_found()),
    }
}

/// Answers a call below a workspace.
fn workspace(model: &mut Model, call: &Call<'_>, id: &str, rest: &[&str]) -> Answered {
    if model.workspace(id).is_none() {
        return Err(Refusal::not_found());
    }
    call.needs(super::model::Right::Read, model.settings.flavour)?;
    match (call.method.as_str(), rest) {
        ("GET", []) => workspaces::get(model, call, id),
        ("PATCH", []) => workspaces::update(model, call, id),
        ("DELETE", []) => workspaces::delete(model, call, id),
        ("POST", ["actions", "safe-delete"]) => workspaces::safe_delete(model, call, id),
        ("POST", ["actions", "lock"]) => workspaces::lock(model, call, id),
        ("POST", ["actions", "unlock"]) => workspaces::unlock(model, call, id),
        ("POST", ["actions", "force-unlock"]) => workspaces::force_unlock(model, call, id),
        ("GET", ["relationships", "tags"]) => tags::list(model, call, id),
        ("POST", ["relationships", "tags"]) => tags::add(model, call, id),
        ("DELETE", ["relationships", "tags"]) => tags::remove(model, call, id),
        ("GET", ["varsets"]) => Ok(call.page(Vec::new())),
        ("GET", ["vars"]) => variables::list(model, call, id),
        ("POST", ["vars"]) => variables::create(model, call, id),
        ("PATCH", ["vars", variable]) => variables::update(model, call, id, variable),
        ("DELETE", ["vars", variable]) => variables::delete(model, call, id, variable),
        ("GET", ["configuration-versions"]) => Ok(configurations::list(model, call, id)),
        ("POST", ["configuration-versions"]) => configurations::create(model, call, id),
        ("GET", ["runs"]) => Ok(runs::list(model, call, id)),
        ("GET", ["current-state-version"]) => states::current(model, call, id),
        ("POST", ["state-versions"]) => states::create(model, call, id),
        _ => Err(Refusal::not_found()),
    }
}
