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

/// Time until the next look if a look finds no version: mostly, a transaction of this process is open for a moment.
const SOON: Duration = Duration::from_millis(50);

/// Looks without a version after which all is read as after a write of another process.
const LOOKS: u32 = 10;

/// Watches for ever.
pub(crate) async fn watch(store: Arc<dyn Store>, notifier: Arc<Notifier>) {
    let mut seen = None;
    loop {
        // Without a version the last one stays, so that a write at that moment is seen with the next version.
        match (&seen, version(&*store).await) {
            (Some(seen), Some(version)) if *seen == version => {}
            (Some(_), Some(version)) => {
                notifier.foreign_write();
                seen = Some(version);
            }
            (None, version) => {
                notifier.written();
                seen = version;
            }
            (Some(_), None) => notifier.written(),
        }
        sleep(EVERY).await;
    }
}

async fn version(store: &dyn Store) -> Option<String> {
    for _ in 1..LOOKS {
        if let Some(version) = look(store).await {
            return Some(version);
        }
        sleep(SOON).await;
    }
    look(store).await
}

async fn look(store: &dyn Store) -> Option<String> {
    match store.foreign_version().await {
        Ok(version) => version,
        Err(error) => {
            tracing::debug!(error = %Chain(&error), "cannot look for writes of other processes");
            None
        }
    }
}
