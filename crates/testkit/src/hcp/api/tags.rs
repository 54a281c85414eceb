//! Flat tags.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::caller::Right;
use super::super::model::Model;

const LIMIT: usize = 255;

pub(super) fn list(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let workspace = model.workspace(id).ok_or_else(RefusedCall::not_found)?;
    let document =
        |tag| json!({"id": format!("tag-{tag}"), "type": "tags", "attributes": {"name": tag}});
    Ok(call.page(workspace.tags.iter().map(document).collect()))
}

pub(super) fn add(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change(model, call, id, true)
}

pub(super) fn remove(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change(model, call, id, false)
}

fn change(model: &mut Model, call: &Call<'_>, id: &str, present: bool) -> Answered {
    call.needs(Right::ManageWorkspaces)?;
    let names = names(call)?;
    let workspace = model.workspace_mut(id).ok_or_else(RefusedCall::not_found)?;
    for name in names {
        if present {
            workspace.tags.insert(name);
        } else {
            workspace.tags.remove(&name);
        }
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The tags of the body, by name.
fn names(call: &Call<'_>) -> Result<Vec<String>, RefusedCall> {
    let Some(tags) = call.body["data"].as_array() else {
        return Err(RefusedCall::bad_request("data must be a list"));
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ':' | '-' | '_');
    let name = |tag: &Value| {
        let name = tag["attributes"]["name"].as_str().unwrap_or_default();
        if tag["type"] != "tags" {
            return Err(RefusedCall::invalid("type", "Type must be tags"));
        }
        if name.is_empty() || name.len() > LIMIT || !name.chars().all(plain) {
            return Err(RefusedCall::invalid("name", "Name is not a valid tag"));
        }
        Ok(name.to_owned())
    };
    tags.iter().map(name).collect()
}
