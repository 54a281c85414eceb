//! Hints between replicas: published in batches, and listened to.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::{Hint, Store, StoreError};
use futures::StreamExt as _;
use tokio::sync::mpsc;

use crate::liveness::LOST;
use crate::notifier::Notifier;

/// Pause after a batch, in which the next batch gathers, since every batch is a transaction. The first hint after a
/// quiet time goes at once.
const GATHER: Duration = Duration::from_millis(10);

/// Hints in one batch.
const BATCH: usize = 256;

/// Wait before listening is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Publishes for ever.
pub(crate) async fn publish(store: Arc<dyn Store>, mut outgoing: mpsc::Receiver<Hint>) {
    let mut batch = Vec::with_capacity(BATCH);
    while outgoing.recv_many(&mut batch, BATCH).await > 0 {
        let mut once = HashSet::new();
        batch.retain(|hint| once.insert(hint.clone()));
        if let Err(error) = store.publish(&batch).await {
            tracing::debug!(error = %Chain(&error), "hints are not published; other replicas poll");
        }
        batch.clear();
        tokio::time::sleep(GATHER).await;
    }
}

/// Listens for ever; returns at once without other replicas.
pub(crate) async fn listen(store: Arc<dyn Store>, notifier: Arc<Notifier>) {
    loop {
        match follow(&*store, &notifier).await {
            Ok(()) => return,
            Err(error) => {
                cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot listen to the database, polling");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

async fn follow(store: &dyn Store, notifier: &Notifier) -> Result<(), StoreError> {
    let Some(mut hints) = store.listen().await? else {
        return Ok(());
    };
    // Hints that were published before this are lost.
    let mut missed = true;
    loop {
        if missed {
            notifier.apply(Hint::Gap);
            end_calls_of_draining(store, notifier).await;
        }
        let Some(hint) = hints.next().await else {
            return Ok(());
        };
        missed = hint == Hint::Gap;
        if !missed {
            notifier.apply(hint);
        }
    }
}

/// One query serves all waiting calls. If the query fails, the calls end at their own deadlines, and get no run until
/// then.
async fn end_calls_of_draining(store: &dyn Store, notifier: &Notifier) {
    match store.workers(LOST).await {
        Ok(workers) => {
            let draining = workers.iter().filter(|known| known.worker.draining);
            draining.for_each(|known| notifier.end_calls_of(&known.worker.id));
        }
        Err(error) => tracing::debug!(error = %Chain(&error), "cannot look for draining workers"),
    }
}
