//! Error bodies of both families (docs/rest.md#error-bodies).

use cts_core::hidden::without_secrets;
use serde::{Serialize, Serializer};

use crate::request_id::RequestId;

/// The body; `request_id` only in the new family.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorAnswer<'a> {
    pub(crate) error: CodedError<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<RequestId>,
}

/// An error of a request.
#[derive(Debug, Serialize)]
pub(crate) struct CodedError<'a> {
    #[serde(serialize_with = "shown")]
    pub(crate) message: &'a str,
    /// Stable code (docs/runbook.md#error-codes).
    pub(crate) code: &'a str,
}

/// The error of an event.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorMessage<'a> {
    #[serde(serialize_with = "shown")]
    pub(crate) message: &'a str,
}

/// An error may quote an address with a token in it.
fn shown<S: Serializer>(message: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_secrets(message))
}
