//! Workspaces with their locks.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::caller::Right;
use super::super::model::{Lock, Model, Workspace};
use super::super::settings::HcpSettings;

const NAME_LIMIT: usize = 90;

pub(in super::super) fn with_name<'a>(
    model: &'a mut Model,
    name: &str,
) -> Option<&'a mut Workspace> {
    model
        .workspaces
        .iter_mut()
        .find(|workspace| workspace.name() == name)
}

pub(super) fn list(model: &Model, call: &Call<'_>) -> Reply {
    let part = call.parameter("search[name]").unwrap_or_default();
    let workspaces = model.workspaces.iter();
    let found = workspaces.filter(|workspace| workspace.name().contains(part));
    let documents = found.map(|known| known.document(model, call.caller));
    call.page(documents.collect())
}

pub(super) fn get(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let workspace = model.workspace(id).ok_or_else(RefusedCall::not_found)?;
    Ok(Reply::ok(workspace.document(model, call.caller)))
}

pub(super) fn create(model: &mut Model, call: &Call<'_>) -> Answered {
    call.needs(Right::ManageWorkspaces)?;
    let attributes = call.attributes("workspaces")?;
    let newest = model.settings.terraform_versions.last();
    let mut workspace = Workspace::new(newest.map_or("latest", String::as_str));
    if !attributes.contains_key("name") {
        return Err(RefusedCall::invalid("name", "Name can't be blank"));
    }
    set(model, &mut workspace, &attributes)?;
    let document = workspace.document(model, call.caller);
    model.workspaces.push(workspace);
    Ok(Reply::created(document))
}

pub(super) fn update(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::ManageWorkspaces)?;
    let attributes = call.attributes("workspaces")?;
    let position = model
        .workspaces
        .iter()
        .position(|workspace| workspace.id == id);
    let position = position.ok_or_else(RefusedCall::not_found)?;
    let mut workspace = model.workspaces.remove(position);
    let before = (workspace.attributes.clone(), workspace.agent_pool.clone());
    let result = set(model, &mut workspace, &attributes);
    if result.is_err() {
        (workspace.attributes, workspace.agent_pool) = before;
    }
    model.workspaces.insert(position, workspace);
    result?;
    get(model, call, id)
}

/// Takes over the attributes that are given.
fn set(
    model: &Model,
    workspace: &mut Workspace,
    attributes: &Map<String, Value>,
) -> Result<(), RefusedCall> {
    let settings = &model.settings;
    for (name, value) in attributes {
        match name.as_str() {
            "name" => {
                let new = value.as_str().unwrap_or_default();
                check_name(model, &workspace.id, new)?;
            }
            "execution-mode" if !matches!(value.as_str(), Some("remote" | "local" | "agent")) => {
                return Err(RefusedCall::invalid(
                    name,
                    "Execution mode is not included in the list",
                ));
            }
            "terraform-version" => check_version(settings, value.as_str().unwrap_or_default())?,
            "agent-pool-id" => {
                workspace.agent_pool = value.as_str().map(str::to_owned);
                continue;
            }
            _ => {}
        }
        if workspace.attributes.contains_key(name) {
            workspace.attributes.insert(name.clone(), value.clone());
        }
    }
    let pool = workspace.agent_pool.as_deref();
    let known = |id: &str| model.agent_pools.iter().any(|pool| pool.id == id);
    if pool.is_some_and(|id| !known(id)) {
        return Err(RefusedCall::invalid(
            "agent-pool-id",
            "Agent pool does not exist",
        ));
    }
    if workspace.mode() != "agent" {
        workspace.agent_pool = None;
    } else if pool.is_none() {
        return Err(RefusedCall::invalid(
            "agent-pool-id",
            "Agent pool can't be blank",
        ));
    }
    Ok(())
}

fn check_name(model: &Model, id: &str, name: &str) -> Result<(), RefusedCall> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let detail = if name.is_empty() {
        "Name can't be blank"
    } else if !name.chars().all(plain) {
        "Name can only include letters, numbers, -, and _"
    } else if name.len() > NAME_LIMIT {
        "Name is too long (maximum is 90 characters)"
    } else if model
        .workspace_named(name)
        .is_some_and(|known| known.id != id)
    {
        "Name has already been taken"
    } else {
        return Ok(());
    };
    Err(RefusedCall::invalid("name", detail))
}

fn check_version(settings: &HcpSettings, version: &str) -> Result<(), RefusedCall> {
    let constraint = version.starts_with(['~', '>', '<', '=']);
    let known = settings
        .terraform_versions
        .iter()
        .any(|known| known == version);
    if known || version == "latest" || constraint {
        return Ok(());
    }
    let detail = format!("Terraform version {version} is not available");
    Err(RefusedCall::invalid("terraform-version", detail))
}

pub(super) fn delete(model: &mut Model, id: &str) -> Reply {
    model.remove_workspace(id);
    Reply::empty(StatusCode::NO_CONTENT)
}

pub(super) fn safe_delete(model: &mut Model, id: &str) -> Answered {
    if model
        .current_state(id)
        .is_some_and(|state| state.resources() > 0)
    {
        return Err(RefusedCall::conflict(
            "The workspace still manages resources.",
        ));
    }
    if model
        .workspace(id)
        .is_some_and(|workspace| workspace.lock.is_some())
    {
        return Err(RefusedCall::conflict("The workspace is locked."));
    }
    Ok(delete(model, id))
}

pub(super) fn lock(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change_lock(model, call, id, |lock, name| match lock {
        None => Ok(Some(Lock::User(name.to_owned()))),
        Some(_) => Err(RefusedCall::conflict(
            "Unable to lock workspace. The workspace is already locked.",
        )),
    })
}

pub(super) fn unlock(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change_lock(model, call, id, |lock, name| match lock {
        Some(Lock::User(holder)) if holder == name => Ok(None),
        Some(Lock::User(holder)) => {
            let detail = format!("Unable to unlock workspace. It is locked by {holder}.");
            Err(RefusedCall::conflict(detail))
        }
        Some(Lock::Run(run)) => {
            let detail = format!("Unable to unlock workspace. It is locked by Run {run}.");
            Err(RefusedCall::conflict(detail))
        }
        None => Err(RefusedCall::conflict("Workspace already unlocked.")),
    })
}

pub(super) fn force_unlock(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change_lock(model, call, id, |lock, _| match lock {
        Some(_) => Ok(None),
        None => Err(RefusedCall::conflict("Workspace already unlocked.")),
    })
}

fn change_lock(
    model: &mut Model,
    call: &Call<'_>,
    id: &str,
    change: impl FnOnce(Option<&Lock>, &str) -> Result<Option<Lock>, RefusedCall>,
) -> Answered {
    let workspace = model.workspace_mut(id).ok_or_else(RefusedCall::not_found)?;
    workspace.lock = change(workspace.lock.as_ref(), &call.caller.name)?;
    get(model, call, id)
}
