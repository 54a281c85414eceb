//! State versions.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::caller::Right;
use super::super::model::{Lock, Model, Signed, StateVersion, md5};

pub(super) fn current(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    call.needs(Right::ReadStates)?;
    let state = model.current_state(id).ok_or_else(RefusedCall::not_found)?;
    let state = state.clone();
    Ok(Reply::ok(document(model, &state)))
}

fn document(model: &mut Model, state: &StateVersion) -> Value {
    let download = model.signed.address(Signed::State(state.id.clone()));
    state.document(&download)
}

/// Creates a state. The caller must hold the lock.
pub(super) fn create(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let attributes = Value::Object(call.attributes("state-versions")?);
    let workspace = model.workspace(id).ok_or_else(RefusedCall::not_found)?;
    if workspace.lock != Some(Lock::User(call.caller.name.clone())) {
        return Err(RefusedCall::conflict(
            "The workspace is not locked by the user.",
        ));
    }
    let Some(serial) = attributes["serial"].as_u64() else {
        return Err(RefusedCall::invalid("serial", "Serial can't be blank"));
    };
    let Some(digest) = attributes["md5"].as_str() else {
        return Err(RefusedCall::invalid("md5", "Md5 can't be blank"));
    };
    let lineage = attributes["lineage"].as_str().unwrap_or_default();
    let forced = attributes["force"] == json!(true);
    if let Some(known) = model.current_state(id).filter(|_| !forced) {
        check(known, serial, lineage, digest)?;
    }
    let content = BASE64_STANDARD.decode(attributes["state"].as_str().unwrap_or_default());
    let content = content.map_err(|error| RefusedCall::invalid("state", error.to_string()))?;
    let state = StateVersion::new(id, serial, lineage, content);
    check_content(&state, digest)?;
    let document = document(model, &state);
    model.state_versions.push(state);
    Ok(Reply::created(document))
}

fn check(
    known: &StateVersion,
    serial: u64,
    lineage: &str,
    digest: &str,
) -> Result<(), RefusedCall> {
    if !lineage.is_empty() && !known.lineage.is_empty() && known.lineage != lineage {
        return Err(RefusedCall::conflict(
            "The lineage differs from that of the current state.",
        ));
    }
    if serial < known.serial || (serial == known.serial && md5(&known.content) != digest) {
        return Err(RefusedCall::conflict(
            "The serial is not higher than that of the current state.",
        ));
    }
    Ok(())
}

/// Refuses a state whose content is not the announced one.
fn check_content(state: &StateVersion, digest: &str) -> Result<(), RefusedCall> {
    if md5(&state.content) != digest {
        return Err(RefusedCall::invalid("md5", "Md5 does not match the state"));
    }
    let parsed: Result<Value, _> = serde_json::from_slice(&state.content);
    let parsed = parsed.map_err(|error| RefusedCall::invalid("state", error.to_string()))?;
    if parsed["serial"].as_u64() != Some(state.serial) {
        return Err(RefusedCall::invalid(
            "serial",
            "Serial does not match the state",
        ));
    }
    Ok(())
}
