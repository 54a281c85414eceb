//! Error bodies of both families (docs/rest.md#error-bodies).

use serde::Serialize;

use crate::transport::request_log::RequestId;

/// The body; `request_id` only in the new family.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorAnswer<'a> {
    pub(crate) error: ErrorMessage<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<RequestId>,
}

/// The only member of an error; events have it too.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorMessage<'a> {
    pub(crate) message: &'a str,
}
