//! The tokens of the store, for all that checks requests by them.

use std::sync::Arc;
use std::time::Duration;

use cts_access::{TokenEntry, TokenHash, TokenTable};
use cts_core::Chain;
use cts_core::callers::TaskPatterns;
use cts_runtime::Outage;
use cts_store::{Store, StoredToken};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::notifier::Notifier;

/// Pause between looks at the store. Commands change tokens in the database itself, so no call announces that; a process
/// that has the store for itself notices writes of commands (`foreign_writes`).
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The tokens as they were read last; `None` before the first time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens(watch::Sender<Option<Arc<Vec<StoredToken>>>>);

impl Default for Tokens {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Tokens {
    /// Sees the tokens now and after each change. The store is polled only while a receiver exists.
    pub(crate) fn follow(&self) -> watch::Receiver<Option<Arc<Vec<StoredToken>>>> {
        self.0.subscribe()
    }

    /// Keeps `table` equal to the stored tokens while the store can be read; otherwise the table stays unchanged.
    pub async fn fill(&self, table: watch::Sender<Arc<TokenTable>>) {
        let mut tokens = self.follow();
        loop {
            let read = tokens.borrow_and_update().clone();
            if let Some(read) = read {
                table.send_replace(Arc::new(TokenTable::new(read.iter().filter_map(entry))));
            }
            if tokens.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the tokens again and again, while they are followed.
    pub(crate) async fn watch(&self, store: Arc<dyn Store>, notifier: &Notifier) {
        let mut outage = Outage::default();
        let mut written = notifier.writes();
        loop {
            written.mark_unchanged();
            if self.0.receiver_count() > 0 {
                match store.tokens().await {
                    Ok(tokens) => {
                        if outage.works() {
                            tracing::debug!(target: "access", "the tokens are read again");
                        }
                        self.0.send_if_modified(|known| {
                            let is_new = known.as_deref() != Some(&tokens);
                            if is_new {
                                *known = Some(Arc::new(tokens));
                            }
                            is_new
                        });
                    }
                    Err(error) => {
                        let text = Chain(&error).to_string();
                        if outage.fails_with(&text) {
                            cts_store::log_store_failure!(warn, &error, target: "access", error = text, "the tokens cannot be read, the last ones stay in force");
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

/// Returns `None` for a token whose role is not known or whose patterns cannot be read: such a token grants no access.
fn entry(token: &StoredToken) -> Option<TokenEntry> {
    let tasks = TaskPatterns::new(token.tasks.clone());
    Some(TokenEntry {
        name: token.name.clone(),
        hash: TokenHash(token.sha256),
        role: token.role?,
        tasks: tasks.ok()?,
        expires_at: token.expires_at,
    })
}
