//! The tokens of the store, for all that checks requests by them.

pub(crate) mod followed;

use std::sync::Arc;

use cts_access::{TokenEntry, TokenHash, TokenTable};
use cts_core::callers::TaskPatterns;
use cts_store::{Store, StoredToken};
use tokio::sync::watch;

use self::followed::Followed;
use crate::notifier::Notifier;

/// The tokens as they were read last; `None` before the first time. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Followed<Vec<StoredToken>>);

impl Tokens {
    /// Sees the tokens now and after each change. The store is polled only while a receiver exists.
    pub(crate) fn follow(&self) -> watch::Receiver<Option<Arc<Vec<StoredToken>>>> {
        self.0.follow()
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
        let read = |known: Option<Arc<Vec<_>>>| {
            let store = Arc::clone(&store);
            async move {
                let tokens = store.tokens().await?;
                Ok((known.as_deref() != Some(&tokens)).then_some(tokens))
            }
        };
        self.0.watch("tokens", notifier, read).await;
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
