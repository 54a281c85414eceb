//! Outages of the server of a database in the log.

use std::error::Error;
use std::sync::Arc;

use cts_core::{CallBegun, Clock, Reachability, plain_reason};
use cts_store::StoreError;

/// Logs whether the server can be reached: an outage is one line, with a reminder each minute and a line at its end.
/// Cheap to clone; clones share the outage.
#[derive(Debug, Clone)]
pub struct ServerLog(Reachability);

impl ServerLog {
    /// A server that is thought to be reachable; `name` begins the sentences about it.
    pub fn new(name: String, clock: Arc<dyn Clock>) -> Self {
        Self(Reachability::new(name, clock))
    }

    /// A call begins.
    pub fn begin(&self) -> CallBegun {
        self.0.begin()
    }

    /// Notes how a call has ended, for a line if one is due. Other failures than an unreachable server say nothing
    /// about it: a pool without free connections fails, too.
    pub fn note(&self, call: CallBegun, failure: Option<&StoreError>) {
        match failure {
            Some(StoreError::Unreachable { source, .. }) => {
                if let Some(line) = self.0.fails(call, reason(&**source)) {
                    tracing::warn!(target: "database", "{line}");
                }
            }
            Some(_) => {}
            None => {
                if let Some(line) = self.0.answers(call) {
                    tracing::info!(target: "database", failed_calls = line.failures, "{line}");
                }
            }
        }
    }

    pub(crate) fn is_in_outage(&self) -> bool {
        self.0.is_in_outage()
    }
}

/// The reason why a server is unreachable, in words for an operator; `None` if it has not answered.
fn reason(error: &(dyn Error + Send + Sync + 'static)) -> Option<String> {
    match error.downcast_ref::<sqlx::Error>()? {
        sqlx::Error::Database(error) => Some(error.message().to_owned()),
        error => Some(plain_reason(error)),
    }
}
