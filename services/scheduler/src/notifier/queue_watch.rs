//! Wakes waiting workers when a queued run becomes due, and makes up for lost hints.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_store::Store;
use tokio::time::sleep;

use crate::notifier::Notifier;
use crate::unschedulable::Unschedulable;

/// Longest time between two polls while a run waits, and where hints may be lost: a change without a hint is found
/// after this.
const POLL: Duration = Duration::from_secs(1);

/// First pause after a run was due and a worker was woken; doubles while the run stays due, since possibly no worker is
/// free or able.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// Watches for ever.
pub(crate) async fn watch(
    store: Arc<dyn Store>,
    notifier: Arc<Notifier>,
    mut unschedulable: Unschedulable,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let wait = match store.next_due().await {
            Ok(Some(due)) if due.is_zero() => {
                notifier.wake_one_of_each_class();
                unschedulable.due().await;
                let wait = pause;
                pause = (pause * 2).min(POLL);
                wait
            }
            Ok(due) => {
                pause = FIRST_PAUSE;
                unschedulable.nothing_due();
                match due {
                    Some(due) => due.min(POLL),
                    None => pause_without_due(&*store, &notifier).await,
                }
            }
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "cannot look for due runs");
                POLL
            }
        };
        tokio::select! {
            () = sleep(wait) => {}
            // Hints of a busy queue come by the thousand; workers were woken by them already.
            () = async {
                notifier.schedule.notified().await;
                sleep(FIRST_PAUSE).await;
            } => {}
        }
    }
}

/// The pause while no run is due at a known time. An open run may become due without a hint, for example when a
/// concurrency group is free.
async fn pause_without_due(store: &dyn Store, notifier: &Notifier) -> Duration {
    let pause = notifier.poll(POLL);
    if pause > POLL && matches!(store.has_open_runs().await, Ok(false)) {
        pause
    } else {
        POLL
    }
}
