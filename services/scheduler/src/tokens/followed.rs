//! Data of the store by which gateways and listeners check requests, read again and again while it is followed.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use cts_store::StoreError;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::notifier::Notifier;

/// Pause between looks at the store. Commands and other schedulers change the data in the database itself, so no call
/// announces that; a process that has the store for itself notices writes of commands (`foreign_writes`).
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The data as read last; `None` before the first time. Cheap to clone.
#[derive(Debug)]
pub(crate) struct Followed<T>(watch::Sender<Option<Arc<T>>>);

impl<T> Default for Followed<T> {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl<T> Clone for Followed<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Followed<T> {
    /// Sees the data now and after each change. The store is polled only while a receiver exists.
    pub(crate) fn follow(&self) -> watch::Receiver<Option<Arc<T>>> {
        self.0.subscribe()
    }

    /// Reads the data again and again, while it is followed. `read` gets the known data, and returns `None` if it has
    /// not changed.
    pub(crate) async fn watch<Reading>(
        &self,
        what: &'static str,
        notifier: &Notifier,
        read: impl Fn(Option<Arc<T>>) -> Reading,
    ) where
        Reading: Future<Output = Result<Option<T>, StoreError>>,
    {
        let mut outage = Outage::default();
        let mut written = notifier.writes();
        loop {
            written.mark_unchanged();
            if self.0.receiver_count() > 0 {
                let known = self.0.borrow().clone();
                match read(known).await {
                    Ok(changed) => {
                        if outage.works() {
                            tracing::debug!(target: "access", "the {what} are read again");
                        }
                        if let Some(changed) = changed {
                            self.0.send_replace(Some(Arc::new(changed)));
                        }
                    }
                    Err(error) => {
                        let text = Chain(&error).to_string();
                        if outage.fails_with(&text) {
                            cts_store::log_store_failure!(warn, &error, target: "access", error = text, "the {what} cannot be read, the last ones stay in force");
                        }
                    }
                }
            }
            let pause = if outage.is_on() || self.0.receiver_count() == 0 {
                LOOK_EVERY
            } else {
                notifier.poll(LOOK_EVERY)
            };
            tokio::select! {
                () = sleep(pause) => {}
                Ok(()) = written.changed() => {}
            }
        }
    }
}
