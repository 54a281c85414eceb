//! Configuration versions and their uploads.

use flate2::read::GzDecoder;
use serde_json::Map;
use tar::Archive;

use super::super::call::{Answered, Call, RefusedCall, Reply};
use super::super::model::{Configuration, Model, Run, Signed};

/// Most bytes of an uploaded configuration.
const UPLOAD_LIMIT: usize = 10 << 20;

pub(super) fn create(model: &mut Model, call: &Call<'_>, id: &str) -> Answered {
    let attributes = call.attributes("configuration-versions")?;
    let configuration = Configuration::new(id, &attributes);
    let upload = model
        .signed
        .address(Signed::Upload(configuration.id.clone()));
    let document = configuration.document(Some(&upload));
    model.configurations.push(configuration);
    Ok(Reply::created(document))
}

pub(super) fn get(model: &Model, id: &str) -> Answered {
    let configuration = model.configuration(id).ok_or_else(RefusedCall::not_found)?;
    Ok(Reply::ok(configuration.document(None)))
}

/// Takes the archive, and queues a run if the configuration version has not renounced that.
pub(in super::super) fn upload(
    model: &mut Model,
    id: &str,
    content: &[u8],
) -> Result<(), RefusedCall> {
    let held = model.uploads_held;
    let configuration = model
        .configuration_mut(id)
        .ok_or_else(RefusedCall::not_found)?;
    if configuration.status != "pending" {
        return Err(RefusedCall::conflict(
            "The configuration version is uploaded already.",
        ));
    }
    if content.len() > UPLOAD_LIMIT {
        return Err(RefusedCall::invalid("upload", "The upload is too large"));
    }
    content.clone_into(&mut configuration.content);
    configuration.error = unreadable(content);
    if configuration.error.is_some() {
        configuration.status = "errored";
    } else if !held {
        finish(model, id);
    }
    Ok(())
}

/// Ends an upload whose content is there.
pub(in super::super) fn finish(model: &mut Model, id: &str) {
    let Some(configuration) = model.configuration_mut(id) else {
        return;
    };
    configuration.status = "uploaded";
    if configuration.auto_queue_runs {
        let mut run = Run::new(&configuration.workspace, id, "operator", &Map::new());
        run.plan_only = configuration.speculative;
        super::runs::queue(model, run);
    }
}

/// Why an archive cannot be read.
fn unreadable(content: &[u8]) -> Option<String> {
    let mut archive = Archive::new(GzDecoder::new(content));
    let read = archive
        .entries()
        .and_then(|mut entries| entries.try_for_each(|entry| entry.map(drop)));
    read.err()
        .map(|error| format!("The archive cannot be read: {error}"))
}
