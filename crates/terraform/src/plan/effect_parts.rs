//! The parts of a plan that make up its effect (docs/runs.md#the-effect-of-a-plan).

use cts_core::IgnoredPaths;
use serde::Deserialize as _;
use serde_json::Result;
use serde_json::value::RawValue;

use super::context::PlanContext;
use super::format::{Invocation, ResourceChange};
use super::json::{encode_except, encode_marks, put};

/// The parts of the change of a resource. A destruction needs no values: it leaves nothing of its objects. But it needs the
/// state: a part of a destruction is one of the same state only.
pub(super) fn of_change(context: &PlanContext, resource: &ResourceChange) -> Result<Vec<Vec<u8>>> {
    let (address, change) = (&resource.address, &resource.change);
    if context.destroys {
        return Ok(vec![
            b"destroy".to_vec(),
            bytes(context.scope.lineage.as_ref()),
            bytes(Some(address)),
            bytes(resource.deposed.as_ref()),
            words(&change.actions),
        ]);
    }
    let ignored = IgnoredPaths::at(&context.ignored, address);
    Ok(vec![
        bytes(Some(address)),
        bytes(resource.moved_from()),
        bytes(resource.deposed.as_ref()),
        bytes(resource.provider_name.as_ref()),
        words(&change.actions),
        encoded(change.importing.as_deref(), &IgnoredPaths::default())?,
        set(change.replace_paths.as_deref())?,
        encoded(change.before.as_deref(), &ignored)?,
        encoded(change.after.as_deref(), &ignored)?,
        marks(change.after_unknown.as_deref(), &ignored)?,
    ])
}

/// The parts of an action that a provider is asked to do.
pub(super) fn of_invocation(invocation: &Invocation) -> Result<Vec<Vec<u8>>> {
    let all = IgnoredPaths::default();
    Ok(vec![
        b"invoke".to_vec(),
        bytes(Some(&invocation.address)),
        bytes(invocation.provider_name.as_ref()),
        encoded(invocation.config_values.as_deref(), &all)?,
        marks(invocation.config_unknown.as_deref(), &all)?,
        encoded(invocation.lifecycle_action_trigger.as_deref(), &all)?,
        encoded(invocation.invoke_action_trigger.as_deref(), &all)?,
    ])
}

fn bytes(text: Option<&String>) -> Vec<u8> {
    text.cloned().unwrap_or_default().into_bytes()
}

fn words(words: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in words {
        put(word.as_bytes(), &mut bytes);
    }
    bytes
}

fn encoded(value: Option<&RawValue>, ignored: &IgnoredPaths<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(value) = value {
        encode_except(value, ignored, &mut bytes)?;
    }
    Ok(bytes)
}

fn marks(marks: Option<&RawValue>, ignored: &IgnoredPaths<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(marks) = marks {
        encode_marks(marks, ignored, &mut bytes)?;
    }
    Ok(bytes)
}

/// The elements of a list whose order means nothing.
fn set(list: Option<&RawValue>) -> Result<Vec<u8>> {
    let list = list
        .map(Option::<Vec<&RawValue>>::deserialize)
        .transpose()?;
    let mut all = Vec::new();
    for element in list.flatten().unwrap_or_default() {
        all.push(encoded(Some(element), &IgnoredPaths::default())?);
    }
    all.sort_unstable();
    let mut bytes = Vec::new();
    for element in all {
        put(&element, &mut bytes);
    }
    Ok(bytes)
}
