//! Looks for writes of other processes in a store that this process has for itself: commands like `cts token revoke` and
//! `cts config apply` write to the file while cts works, and no hint comes with them.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::Store;
use tokio::time::sleep;

use crate::notifier::Notifier;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Watches for ever.
pub(crate) async fn watch(store: Arc<dyn Store>, notifier: Arc<Notifier>) {
    let mut seen = None;
    loop {
        let version = match store.foreign_version().await {
            Ok(version) => version,
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "cannot look for writes of other processes");
                None
            }
        };
        if version.is_none() || seen.is_none() {
            notifier.written();
        } else if version != seen {
            notifier.foreign_write();
        }
        seen = version;
        sleep(EVERY).await;
    }
}
