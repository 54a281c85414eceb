//! Flat tags.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::call::{Answered, Call, Refusal, Reply};
use super::super::model::{Model, Right};

const LIMIT: usize = 255;

fn documents(model: &Model, wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in model
        .workspaces
        .iter()
        .flat_map(|workspace| &workspace.tags)
    {
        *counts.entry(tag).or_default() += 1;
    }
    let found = counts.into_iter().filter(|(tag, _)| wanted(tag));
    let document = |(tag, count)| {
        json!({
            "id": format!("tag-{tag}"), "type": "tags",
            "attributes": {"name": tag, "instance-count": count},
        })
    };
    found.map(document).collect()
}

pub(super) fn of_organization(model: &Model, call: &Call<'_>) -> Answered {
    call.needs(Right::Read, model.settings.flavour)?;
    Ok(call.page(documents(model, |_| true)))
}

pub(super) fn list(model: &Model, call: &Call<'_>, id: &str) -> Answered {
    let workspace = model.workspace(id).ok_or_else(Refusal::not_found)?;
    Ok(call.page(documents(model, |tag| workspace.tags.contains(tag))))
}

pub(super) fn add(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change(model, call, id, true)
}

pub(super) fn remove(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    change(model, call, id, false)
}

fn change(model: &mut Model, call: &Call<'_>, id: &str, present: bool) -> Answered {
    call.needs(Right::ManageWorkspaces, model.settings.flavour)?;
    let names = names(call)?;
    let workspace = model.workspace_mut(id).ok_or_else(Refusal::not_found)?;
    for name in names {
        if present {
            workspace.tags.insert(name);
        } else {
            workspace.tags.remove(&name);
        }
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The tags of the body, by name or by identifier.
fn names(call: &Call<'_>) -> Result<Vec<String>, Refusal> {
    let Some(tags) = call.body["data"].as_array() else {
        return Err(Refusal::bad_request("data must be a list"));
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ':' | '-' | '_');
    let name = |tag: &Value| {
        let id = tag["id"].as_str().and_then(|id| id.strip_prefix("tag-"));
        let name = tag["attributes"]["name"]
            .as_str()
            .or(id)
            .unwrap_or_default();
        if tag["type"] != "tags" {
            return Err(Refusal::invalid("type", "Type must be tags"));
        }
        if name.is_empty() || name.len() > LIMIT || !name.chars().all(plain) {
            return Err(Refusal::invalid("name", "Name is not a valid tag"));
        }
        Ok(name.to_owned())
    };
    tags.iter().map(name).collect()
}
