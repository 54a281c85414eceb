//! The bodies of decisions about effects of plans (docs/rest.md#consent).

use cts_core::callers::{InvalidPattern, TaskPatterns};
use http::HeaderMap;
use serde_json::Value;

use crate::request::document;
use crate::request::task_request::{InvalidBody, decode};

/// Most bytes of a comment.
const LONGEST_COMMENT: usize = 1024;

/// The body has no valid decision. The texts are answers to clients.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidApproval {
    #[error(transparent)]
    Body(#[from] InvalidBody),
    #[error("the member '{0}' is empty")]
    Empty(&'static str),
    #[error("the member 'comment' has more than {LONGEST_COMMENT} bytes, or a control character")]
    Comment,
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
}

/// A decision about the effect of one run.
#[derive(Debug)]
pub(crate) struct Decision {
    /// Fingerprint of the effect.
    pub(crate) effect: String,
    pub(crate) rejects: bool,
    pub(crate) comment: String,
}

/// A decision about the effects of several tasks.
#[derive(Debug)]
pub(crate) struct SetApproval {
    pub(crate) tasks: TaskPatterns,
    pub(crate) set: String,
    pub(crate) comment: String,
}

/// Reads a decision about the effect of one run.
pub(crate) fn decision(
    headers: &HeaderMap,
    body: &[u8],
    rejects: bool,
) -> Result<Decision, InvalidApproval> {
    let members = read(headers, body, "DecisionRequest")?;
    Ok(Decision {
        effect: text(&members, "effect")?,
        rejects,
        comment: comment(&members)?,
    })
}

/// Reads the approval of the effects of several tasks.
pub(crate) fn set(headers: &HeaderMap, body: &[u8]) -> Result<SetApproval, InvalidApproval> {
    let members = read(headers, body, "SetApprovalRequest")?;
    let tasks = members["tasks"].as_array().into_iter().flatten();
    let tasks: Vec<String> = tasks.filter_map(Value::as_str).map(str::to_owned).collect();
    if tasks.is_empty() {
        return Err(InvalidApproval::Empty("tasks"));
    }
    Ok(SetApproval {
        tasks: TaskPatterns::new(tasks)?,
        set: text(&members, "set")?,
        comment: comment(&members)?,
    })
}

/// Reads the name of the task whose rejected effects are forgotten.
pub(crate) fn reopened(headers: &HeaderMap, body: &[u8]) -> Result<String, InvalidApproval> {
    text(&read(headers, body, "ReopenRequest")?, "task")
}

fn read(headers: &HeaderMap, body: &[u8], schema: &'static str) -> Result<Value, InvalidBody> {
    let mut members = decode(headers, body)?;
    let checked = document::schema(schema).check(&mut members);
    checked.map_err(|mismatch| InvalidBody::Schema { schema, mismatch })?;
    Ok(members)
}

fn text(members: &Value, name: &'static str) -> Result<String, InvalidApproval> {
    let text = members[name].as_str().filter(|text| !text.is_empty());
    Ok(text.ok_or(InvalidApproval::Empty(name))?.to_owned())
}

fn comment(members: &Value) -> Result<String, InvalidApproval> {
    let comment = members["comment"].as_str().unwrap_or_default();
    if comment.len() > LONGEST_COMMENT || comment.contains(char::is_control) {
        return Err(InvalidApproval::Comment);
    }
    Ok(comment.to_owned())
}
