//! Variables of workspaces.

use axum::http::StatusCode;
use serde_json::Value;

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::model::{Model, Variable, Workspace};

fn of_workspace<'a>(model: &'a mut Model, id: &str) -> Result<&'a mut Workspace, RefusedCall> {
    model.workspace_mut(id).ok_or_else(RefusedCall::not_found)
}

pub(super) fn list(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let known = of_workspace(model, id)?.variables.iter();
    Ok(call.page(known.map(|variable| variable.document(id)).collect()))
}

pub(super) fn create(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let workspace = of_workspace(model, id)?;
    let attributes = call.attributes("vars")?;
    if !attributes.get("category").is_some_and(Value::is_string) {
        return Err(RefusedCall::invalid(
            "category",
            "Category is not included in the list",
        ));
    }
    let mut variable = Variable::new();
    variable.update(&attributes)?;
    check_free(workspace, &variable)?;
    let document = variable.document(id);
    workspace.variables.push(variable);
    Ok(Reply::created(document))
}

pub(super) fn update(model: &mut Model, call: &Call<'_>, id: &str, variable: &str) -> Answered {
    let workspace = of_workspace(model, id)?;
    let position = workspace
        .variables
        .iter()
        .position(|known| known.id == variable);
    let position = position.ok_or_else(RefusedCall::not_found)?;
    let mut changed = workspace.variables[position].clone();
    changed.update(&call.attributes("vars")?)?;
    check_free(workspace, &changed)?;
    let document = changed.document(id);
    workspace.variables[position] = changed;
    Ok(Reply::ok(document))
}

pub(super) fn delete(model: &mut Model, id: &str, variable: &str) -> Answered {
    let workspace = of_workspace(model, id)?;
    let before = workspace.variables.len();
    workspace.variables.retain(|known| known.id != variable);
    if workspace.variables.len() == before {
        return Err(RefusedCall::not_found());
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// Refuses a second variable with a key.
fn check_free(workspace: &Workspace, variable: &Variable) -> Result<(), RefusedCall> {
    let mut others = workspace.variables.iter();
    let taken = others.any(|known| {
        known.id != variable.id
            && known.key == variable.key
            && known.environment == variable.environment
    });
    if taken {
        return Err(RefusedCall::invalid("key", "Key has already been taken"));
    }
    Ok(())
}
