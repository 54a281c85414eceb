//! The identity of a request.

use std::fmt;

use uuid::Uuid;

/// Identifies one request, not a task and not an event (docs/rest.md#request-ids-and-the-log).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct RequestId(pub(crate) Uuid);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
