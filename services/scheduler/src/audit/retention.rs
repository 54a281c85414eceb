//! How long records are kept.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::Store;
use tokio::time::sleep;

/// Pause between rounds: the store may exceed the limit by the records of this time.
const PRUNE_EVERY: Duration = Duration::from_mins(1);

/// Forgets records beyond the limits, again and again. Several replicas may do so at once.
pub(crate) async fn keep(store: Arc<dyn Store>, kept_for: Duration, kept: u32) {
    loop {
        sleep(PRUNE_EVERY).await;
        match store.prune_audit(kept_for, kept).await {
            Ok(0) => {}
            Ok(forgotten) => {
                tracing::debug!(target: "access", forgotten, "old audit records are forgotten");
            }
            Err(error) => {
                tracing::debug!(target: "access", error = %Chain(&error), "old audit records cannot be forgotten now");
            }
        }
    }
}
