//! Refused calls on their way into the store.

use std::sync::Arc;

use cts_access::RefusalSink;
use cts_core::Chain;
use cts_core::callers::AuditRecord;
use cts_store::Store;

/// Stores batches of refused calls.
#[derive(Debug)]
pub(crate) struct IntoStore(pub(crate) Arc<dyn Store>);

impl RefusalSink for IntoStore {
    async fn record(&self, records: &[AuditRecord]) -> bool {
        match self.0.audit(records).await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(target: "access", error = %Chain(&error), "refused calls cannot be recorded now");
                false
            }
        }
    }
}
