//! State versions.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::super::call::{Answered, Call, Refusal, Reply};
use super::super::model::{Lock, Model, Right, Signed, StateVersion, md5};

pub(super) fn current(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let state = model.current_state(id).ok_or_else(Refusal::not_found)?;
    let id = state.id.clone();
    get(model, call, &id)
}

pub(super) fn get(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::ReadStates, model.settings.flavour)?;
    let state = find(model, id)?.clone();
    Ok(Reply::ok(document(model, &state)))
}

/// States of one workspace, the newest first.
pub(super) fn list(model: &mut Model, call: &Call<'_>) -> Answered {
    call.needs(Right::ReadStates, model.settings.flavour)?;
    let (Some(organization), Some(name)) = (
        call.parameter("filter[organization][name]"),
        call.parameter("filter[workspace][name]"),
    ) else {
        return Err(Refusal::bad_request(
            "filters for organization and workspace are needed",
        ));
    };
    let known = model
        .workspace_named(name)
        .filter(|_| organization == model.settings.organization);
    let id = known.ok_or_else(Refusal::not_found)?.id.clone();
    let states = model.state_versions.iter().rev();
    let found: Vec<StateVersion> = states
        .filter(|state| state.workspace == id)
        .cloned()
        .collect();
    Ok(call.page(found.iter().map(|state| document(model, state)).collect()))
}

/// The address of a state that belongs to the API.
pub(super) fn redirect(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::ReadStates, model.settings.flavour)?;
    find(model, id)?;
    Ok(Reply::redirect(
        model.signed.address(Signed::State(id.to_owned())),
    ))
}

fn find<'a>(model: &'a Model, id: &str) -> Result<&'a StateVersion, Refusal> {
    let mut states = model.state_versions.iter();
    states
        .find(|state| state.id == id)
        .ok_or_else(Refusal::not_found)
}

fn document(model: &mut Model, state: &StateVersion) -> Value {
    let (mut download, mut upload) = (None, None);
    if state.content.is_none() {
        upload = Some(model.signed.address(Signed::StateUpload(state.id.clone())));
    } else if model.settings.redirects_to_states {
        let base = &model.settings.base_path;
        let path = format!(
            "{}{base}state-versions/{}/hosted_state",
            model.address, state.id
        );
        download = Some(path);
    } else {
        download = Some(model.signed.address(Signed::State(state.id.clone())));
    }
    state.document(download.as_deref(), upload.as_deref())
}

/// Creates a state: with its content, or with an address for it. The caller must hold the lock.
pub(super) fn create(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::WriteStates, model.settings.flavour)?;
    let attributes = Value::Object(call.attributes("state-versions")?);
    let workspace = model.workspace(id).ok_or_else(Refusal::not_found)?;
    if workspace.lock != Some(Lock::User(call.caller.name.clone())) {
        return Err(Refusal::conflict(
            "The workspace is not locked by the user.",
        ));
    }
    let Some(serial) = attributes["serial"].as_u64() else {
        return Err(Refusal::invalid("serial", "Serial can't be blank"));
    };
    let Some(digest) = attributes["md5"].as_str() else {
        return Err(Refusal::invalid("md5", "Md5 can't be blank"));
    };
    let lineage = attributes["lineage"].as_str().unwrap_or_default();
    let forced = attributes["force"] == json!(true);
    if let Some(known) = model.current_state(id).filter(|_| !forced) {
        check(known, serial, lineage, digest)?;
    }
    let mut state = StateVersion::new(id, serial, lineage, digest);
    if let Some(encoded) = attributes["state"].as_str() {
        let content = BASE64_STANDARD.decode(encoded);
        let content = content.map_err(|error| Refusal::invalid("state", error.to_string()))?;
        take(&mut state, content)?;
    }
    let document = document(model, &state);
    model.state_versions.push(state);
    Ok(Reply::created(document))
}

fn check(known: &StateVersion, serial: u64, lineage: &str, digest: &str) -> Result<(), Refusal> {
    if !lineage.is_empty() && !known.lineage.is_empty() && known.lineage != lineage {
        return Err(Refusal::conflict(
            "The lineage differs from that of the current state.",
        ));
    }
    if serial < known.serial || (serial == known.serial && known.md5 != digest) {
        return Err(Refusal::conflict(
            "The serial is not higher than that of the current state.",
        ));
    }
    Ok(())
}

/// Takes the content of a state that was created without it.
pub(in super::super) fn upload(model: &mut Model, id: &str, content: &[u8]) -> Result<(), Refusal> {
    let mut states = model.state_versions.iter_mut();
    let state = states.find(|state| state.id == id && state.content.is_none());
    take(state.ok_or_else(Refusal::not_found)?, content.to_vec())
}

fn take(state: &mut StateVersion, content: Vec<u8>) -> Result<(), Refusal> {
    if md5(&content) != state.md5 {
        return Err(Refusal::invalid("md5", "Md5 does not match the state"));
    }
    let parsed: Result<Value, _> = serde_json::from_slice(&content);
    let parsed = parsed.map_err(|error| Refusal::invalid("state", error.to_string()))?;
    if parsed["serial"].as_u64() != Some(state.serial) {
        return Err(Refusal::invalid(
            "serial",
            "Serial does not match the state",
        ));
    }
    if state.lineage.is_empty() {
        parsed["lineage"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut state.lineage);
    }
    state.content = Some(content);
    Ok(())
}
