//! Outages of the server of a database in the log.

use std::error::Error;
use std::sync::Arc;

use cts_core::{Clock, plain_reason};
use cts_runtime::{CallBegun, Reachability};
use cts_store::StoreError;

/// Logs whether the server can be reached: an outage has one line at its beginning, a reminder each minute and a line
/// at its end. Cheap to clone; clones share the outage.
#[derive(Debug, Clone)]
pub struct ServerLog(Reachability);

impl ServerLog {
    /// A server that is assumed to be reachable; `name` is the subject of the log messages.
    pub fn new(name: String, clock: Arc<dyn Clock>) -> Self {
        Self(Reachability::new(name, clock))
    }

    /// Notes the beginning of a call.
    pub fn begin(&self) -> CallBegun {
        self.0.begin()
    }

    /// Notes the result of a call, and logs a line if one is due. Failures other than an unreachable server are no
    /// evidence: a pool without free connections fails too.
    pub fn note(&self, call: CallBegun, failure: Option<&StoreError>) {
        match failure {
            Some(StoreError::Unreachable { source, .. }) => {
                if let Some(line) = self.0.fails(call, reason(&**source)) {
                    tracing::warn!(target: "database", "{line}");
                }
            }
            Some(_) => {}
            None => {
                if let Some((line, failed_calls)) = self.0.answers(call) {
                    tracing::info!(target: "database", failed_calls, "{line}");
                }
            }
        }
    }

    pub(crate) fn is_in_outage(&self) -> bool {
        self.0.is_in_outage()
    }
}

/// The reason why a server is unreachable, as text for an operator; `None` if it did not answer.
fn reason(error: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    match error.downcast_ref::<sqlx::Error>()? {
        sqlx::Error::Database(error) => Some(error.message().to_owned()),
        error => Some(plain_reason(error)),
    }
}
