//! Heartbeats: they keep this worker registered, and their answers say whether it is to drain.

use std::time::Duration;

use cts_core::Chain;
use cts_rpc::convert;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::options::ShutdownTokens;
use crate::shared::Shared;

/// Until the scheduler has said how often, and after a heartbeat that did not arrive.
const PAUSE: Duration = Duration::from_secs(1);

/// Bounds of what the scheduler may say.
const PAUSES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_mins(1);

/// Sends heartbeats until `ended`; the last one ends the registration. Begins the drain when the scheduler wants it.
pub(crate) async fn heartbeat(
    shared: &Shared,
    shutdown: &ShutdownTokens,
    ended: &CancellationToken,
) {
    let mut reported_draining = false;
    while !ended.is_cancelled() {
        let draining = shutdown.drain.is_cancelled();
        let unanswered = shared.requests.to_be_named(Instant::now());
        let in_doubt = !unanswered.is_empty();
        let heartbeat = shared
            .scheduler
            .heartbeat(record(shared, draining), false, unanswered);
        let pause = match heartbeat.await {
            Ok(answer) => {
                reported_draining = draining;
                if answer.drain && !draining {
                    tracing::info!("the scheduler wants this worker to drain");
                    shutdown.drain.cancel();
                }
                let pause = convert::duration_from_wire(answer.next.as_ref())
                    .clamp(*PAUSES.start(), *PAUSES.end());
                // A run may wait for the next one.
                if in_doubt { pause.min(PAUSE) } else { pause }
            }
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "a heartbeat did not reach the scheduler");
                PAUSE
            }
        };
        tokio::select! {
            () = ended.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
            // Reported at once, so that no run is granted any more.
            () = shutdown.drain.cancelled(), if !reported_draining => {}
        }
    }
    let unanswered = shared.requests.to_be_named(Instant::now());
    let last = shared
        .scheduler
        .heartbeat(record(shared, true), true, unanswered);
    if let Err(error) = last.await {
        tracing::debug!(error = %Chain(&error), "the scheduler does not know that this worker leaves");
    }
}

fn record(shared: &Shared, draining: bool) -> cts_core::WorkerRecord {
    cts_core::WorkerRecord {
        draining,
        ..shared.options.record.clone()
    }
}
