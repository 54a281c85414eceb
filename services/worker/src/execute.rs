//! Executes a leased run: the attempt, its lease and its log at the same time, and the report.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_core::runs::{AttemptOutcome, RunKind};
use cts_terraform::StopSignal;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use crate::attempt::attempt;
use crate::ended::Ended;
use crate::lease::LeaseEnd;
use crate::leased_run::LeasedRun;
use crate::log_lines::AttemptLines;
use crate::run_log::RunLog;

/// A run that takes longer than this is logged as going on, again and again.
const LONG: Duration = Duration::from_mins(1);

/// Works on the run to its end. Returns when the report has arrived or has become pointless.
pub(crate) async fn execute(run: Box<LeasedRun>, stop: &CancellationToken) {
    let lines = AttemptLines::begin(&run);
    let log = RunLog::new(run.shared.console.clone());
    if let Err(end) = Box::pin(run.confirm(stop)).await {
        return Box::pin(give_back_unused(&run, end, &log, stop)).await;
    }
    let order = StopSignal::child_of(stop, run.shared.options.stop);
    let done = CancellationToken::new();
    let mut shipping = std::pin::pin!(log.ship(&run.shared.scheduler, &run.lease, &done));
    let (ended, lost) = {
        let output = run.spans.of_commands(Arc::clone(&log) as _);
        let output = run.phases.of_commands(output);
        let mut work = std::pin::pin!(async {
            match Box::pin(run.note_begin()).await {
                Ok(()) => Box::pin(attempt(&run.shared, &run, output, order.clone())).await,
                Err(error) => {
                    let text = Chain(&error).to_string();
                    Ended {
                        outcome: AttemptOutcome::Failed(text),
                        is_final: false,
                        early_failure: Some(run.shared.health.judge(&run.shared).await),
                        details: None,
                        state: None,
                    }
                }
            }
        });
        let mut keeping = std::pin::pin!(run.keep_lease());
        let mut following = std::pin::pin!(run.follow_orders(&order));
        let mut lost = None;
        let mut minutes = interval_at(Instant::now() + LONG, LONG);
        let ended = loop {
            tokio::select! {
                biased;
                end = &mut keeping, if lost.is_none() => {
                    lost = Some(end);
                    run.give_up(&order);
                }
                ended = &mut work => break ended,
                never = &mut following => match never {},
                () = &mut shipping => {}
                _minute = minutes.tick() => log_still_running(&run),
            }
        };
        (ended, lost)
    };
    run.leave();
    done.cancel();
    measure(&run, &ended, lost);
    let end_line = lines.end(&run, &ended);
    let Some(outcome) = to_be_reported(ended.outcome, lost) else {
        end_line.reported(&run, false);
        tracing::warn!(
            task_name = run.lease.task_name,
            run.id = %run.lease.run,
            "the lease was lost; the result is not reported"
        );
        return;
    };
    if lost.is_some() {
        tracing::warn!(
            task_name = run.lease.task_name,
            run.id = %run.lease.run,
            "the lease could not be renewed in time; the run is given back"
        );
    }
    let ended = Ended { outcome, ..ended };
    // The log of a run whose lease could not be renewed does not arrive either.
    let report = Box::pin(async {
        if lost.is_none() {
            shipping.await;
        }
        let word = ended.outcome.as_str();
        let reported = run.report(ended, &log, lost.is_none()).await;
        let is_queued = reported.as_ref().is_ok_and(|reported| reported.is_queued);
        end_line.reported(&run, is_queued);
        reported?;
        run.note_end(word).await;
        Ok(())
    });
    Box::pin(run.keep_until_reported(report, stop)).await;
}

/// Logs that a long run continues.
fn log_still_running(run: &LeasedRun) {
    tracing::info!(
        task_name = run.lease.task_name,
        run.id = %run.lease.run,
        took = ?whole_seconds(run.acquired.elapsed()),
        "the run goes on"
    );
}

const fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

fn measure(run: &LeasedRun, ended: &Ended, lost: Option<LeaseEnd>) {
    let metrics = &run.shared.metrics;
    let kind = run.lease.kind.as_ref().ok().copied();
    metrics.ended(kind, ended.outcome.as_str());
    if let Some(end) = lost {
        metrics.lost(end);
    }
    let phases = ended.details.as_ref().and_then(|details| details.phases);
    if let Some(phases) = phases.filter(|_| kind == Some(RunKind::Apply)) {
        metrics.phases(&phases);
    }
}

/// A grant came too late to be used. Unless a scheduler reports that the lease is over, the lease is given back at
/// once, so that the run need not wait for its expiry.
async fn give_back_unused(run: &LeasedRun, end: LeaseEnd, log: &RunLog, stop: &CancellationToken) {
    let (task_name, id) = (&run.lease.task_name, run.lease.run);
    if end == LeaseEnd::Refused {
        tracing::info!(task_name, run.id = %id, "a grant was over when it arrived; the run is not begun");
        return;
    }
    tracing::warn!(task_name, run.id = %id, "a grant has come too late and cannot be renewed; the run is given back");
    let ended = Ended {
        outcome: AttemptOutcome::Interrupted,
        is_final: false,
        early_failure: None,
        details: None,
        state: None,
    };
    let report = Box::pin(run.report(ended, log, false));
    run.keep_until_reported(report, stop).await;
}

/// The report for an attempt that has ended with `outcome`; `lost` is how its lease was lost before the end.
/// Terraform is gone in any case, and the scheduler refuses the report if another attempt has begun.
///
/// A finished change is reported, so that it is not done twice. A run that was stopped because no scheduler renewed its
/// lease goes back to the queue and does not count. A run that was stopped because this process stood still is taken
/// back by the scheduler and counts, because the run itself may make workers stand still.
fn to_be_reported(outcome: AttemptOutcome, lost: Option<LeaseEnd>) -> Option<AttemptOutcome> {
    match (lost, &outcome) {
        (Some(LeaseEnd::Refused), _) => None,
        (None, _)
        | (
            Some(_),
            AttemptOutcome::Applied
            | AttemptOutcome::Planned(_)
            | AttemptOutcome::Checked
            | AttemptOutcome::Destroyed,
        ) => Some(outcome),
        (Some(LeaseEnd::Unanswered), _) => Some(AttemptOutcome::Interrupted),
        (Some(LeaseEnd::Stalled), _) => None,
    }
}
