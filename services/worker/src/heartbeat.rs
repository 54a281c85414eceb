//! Heartbeats: keep this worker registered. The answers report whether the worker is to drain.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_core::settings::{BlockDigests, ClusterKey};
use cts_proto::worker::v1::HeartbeatResponse;
use cts_rpc::{CallFailure, convert};
use cts_runtime::{Outage, log_failure};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::calls::is_outage;
use crate::options::{Driver, ShutdownTokens};
use crate::shared::Shared;

/// The pause until the scheduler has set one, and after a heartbeat that did not arrive.
const PAUSE: Duration = Duration::from_secs(1);

/// Bounds of the pause that the scheduler may set.
const PAUSES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_mins(1);

/// Sends heartbeats until `ended`; the last one ends the registration. Begins the drain when the scheduler
/// wants it.
pub(crate) async fn heartbeat(
    shared: &Shared,
    shutdown: &ShutdownTokens,
    ended: &CancellationToken,
) {
    let mut reported_draining = false;
    let options = &shared.options;
    let mut settings = options.settings.digests(&options.keys);
    let mut warned = false;
    let mut refusals = Outage::default();
    let mut health = shared.health.follow();
    let journal = shared.journal.as_ref();
    let mut earlier_lives = journal.map_or_else(Vec::new, |journal| journal.earlier_lives());
    while !ended.is_cancelled() {
        let draining = shutdown.drain.is_cancelled();
        let unanswered = shared.requests.to_be_named(Instant::now());
        let in_doubt = !unanswered.is_empty();
        health.mark_unchanged();
        let heartbeat = shared.scheduler.heartbeat(
            record(shared, draining, &settings),
            false,
            unanswered,
            settings.is_empty(),
            &earlier_lives,
        );
        let asked = Instant::now();
        let pause = match heartbeat.await {
            Ok(answer) => {
                refusals.works();
                earlier_lives.clear();
                note_time(shared, &answer, asked);
                if let Driver::Remote(remote) = &shared.driver {
                    remote.set_share(answer.remote_requests_per_minute);
                }
                reported_draining = draining;
                if settings.is_empty() {
                    if let Some(key) = cluster_key(&answer.cluster_key) {
                        settings = options.settings.digests(&[key]);
                        // The scheduler gets the digests of the settings before it gives runs to this worker.
                        continue;
                    }
                    if !std::mem::replace(&mut warned, true) {
                        tracing::warn!(
                            "the scheduler hands out no key of the cluster; if it has a `security.key_file`, this worker needs the same one to get runs"
                        );
                    }
                }
                if answer.drain && !draining {
                    tracing::info!("the scheduler wants this worker to drain");
                    shutdown.drain.cancel();
                }
                let reported = report_journal(shared, draining, &settings, &answer.timeline).await;
                let compared =
                    report_attempts(shared, draining, &settings, &answer.leader_start).await;
                let pause = convert::duration_from_wire(answer.next.as_ref())
                    .clamp(*PAUSES.start(), *PAUSES.end());
                // A run may wait for the next heartbeat, or a leader for the journal.
                if in_doubt || !reported || !compared {
                    pause.min(PAUSE)
                } else {
                    pause
                }
            }
            Err(error) => {
                log_refusal(&mut refusals, &error);
                PAUSE
            }
        };
        tokio::select! {
            () = ended.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
            // An early heartbeat lets a waiting run show the reason.
            Ok(()) = health.changed() => {}
            // A drain is reported at once, so that no run is granted any more.
            () = shutdown.drain.cancelled(), if !reported_draining => {}
        }
    }
    let unanswered = shared.requests.to_be_named(Instant::now());
    let last = shared.scheduler.heartbeat(
        record(shared, true, &settings),
        true,
        unanswered,
        false,
        &[],
    );
    if let Err(error) = last.await {
        tracing::debug!(error = %CallFailure(&error), "the scheduler does not know that this worker leaves");
    }
}

/// A heartbeat that a scheduler refuses, for example because the id belongs to another process, is a separate problem:
/// the worker gets no runs. Schedulers, and the connections to them, log an outage.
fn log_refusal(refusals: &mut Outage, error: &Status) {
    if is_outage(error) {
        tracing::debug!(error = %CallFailure(error), "a heartbeat did not reach the scheduler");
    } else {
        log_failure!(refusals, error = %CallFailure(error), "the scheduler refuses the heartbeats of this worker; it gets no new runs");
    }
}

/// The journal has its times by the clock of the database.
fn note_time(shared: &Shared, answer: &HeartbeatResponse, asked: Instant) {
    if let Some(journal) = &shared.journal
        && let Some(time) = convert::timestamp_from_wire(answer.database_time.as_ref())
    {
        journal.set_clock(time, asked);
    }
}

/// Reports the journal on a timeline of the scheduler's database, unless it is reported already. Returns
/// whether nothing is left to report.
async fn report_journal(
    shared: &Shared,
    draining: bool,
    settings: &BlockDigests,
    timeline: &str,
) -> bool {
    let Some(journal) = &shared.journal else {
        return true;
    };
    if journal.is_reported(timeline) {
        return true;
    }
    let (read, of) = (Arc::clone(journal), timeline.to_owned());
    let report = match spawn_blocking(move || read.report(&of)).await {
        Ok(report) => report,
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "the journal cannot be reported");
            return false;
        }
    };
    for part in report.parts {
        let record = record(shared, draining, settings);
        if let Err(error) = shared.scheduler.report_journal(record, part).await {
            tracing::debug!(error = %CallFailure(&error), "the journal did not reach the scheduler");
            return false;
        }
    }
    journal.reported(timeline.to_owned(), report.begun, Instant::now());
    true
}

/// Sends the last attempt at each task for this start of a leader, unless these attempts were already sent for that
/// start. Returns whether nothing is left to send. Nothing waits for these reports.
async fn report_attempts(
    shared: &Shared,
    draining: bool,
    settings: &BlockDigests,
    leader_start: &str,
) -> bool {
    let Some(journal) = &shared.journal else {
        return true;
    };
    if journal.is_compared(leader_start) {
        return true;
    }
    let read = Arc::clone(journal);
    let parts = match spawn_blocking(move || read.attempts()).await {
        Ok(parts) => parts,
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "the attempts in the journal cannot be sent");
            return false;
        }
    };
    for part in parts {
        let record = record(shared, draining, settings);
        if let Err(error) = shared.scheduler.report_attempts(record, part).await {
            tracing::debug!(error = %CallFailure(&error), "the attempts in the journal did not reach the scheduler");
            return false;
        }
    }
    journal.compared(leader_start.to_owned());
    true
}

/// The key in the answer of a scheduler, if the scheduler keeps a key for the cluster.
fn cluster_key(answer: &[u8]) -> Option<ClusterKey> {
    if answer.is_empty() {
        return None;
    }
    let key = ClusterKey::from_slice(answer);
    if key.is_err() {
        tracing::warn!(
            bytes = answer.len(),
            "the scheduler answers with a key of the cluster that is none"
        );
    }
    key.ok()
}

fn record(shared: &Shared, draining: bool, settings: &BlockDigests) -> cts_core::WorkerRecord {
    cts_core::WorkerRecord {
        draining,
        settings: Some(settings.clone()),
        problem: shared.health.follow().borrow().clone(),
        ..shared.options.record.clone()
    }
}
