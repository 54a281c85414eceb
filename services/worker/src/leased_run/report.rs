//! The report of an attempt, and the lease until it has arrived.

use cts_core::runs::AttemptOutcome;
use cts_rpc::{CallFailure, chunks};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::LeasedRun;
use crate::attempt_spans::EndedAttempt;
use crate::calls::scheduler::Reported;
use crate::ended::Ended;
use crate::run_log::RunLog;

/// How often a lease is renewed for a report that does not arrive although renewals do: more than enough for
/// a slow database, and an end for a report that can never be stored. Each renewal takes a third of a lease's
/// life.
const RENEWALS_FOR_A_REPORT: u32 = 30;

impl LeasedRun {
    /// Renews the lease until the end of the run is confirmed, the lease is lost for good, or this worker has
    /// to end: after the order to stop the lease has one more life.
    pub(crate) async fn keep_until_reported<T>(
        &self,
        report: impl Future<Output = Result<T, Status>>,
        stop: &CancellationToken,
    ) {
        let mut report = std::pin::pin!(report);
        let mut keeping = std::pin::pin!(self.keep_ended(RENEWALS_FOR_A_REPORT));
        let mut overdue = std::pin::pin!(async {
            stop.cancelled().await;
            sleep(self.lease.time_to_live).await;
        });
        let mut last_try = std::pin::pin!(async {
            // A report that is under way when the renewals end has its answer by then.
            sleep(self.lease.time_to_live).await;
        });
        let mut kept = true;
        let reported = loop {
            tokio::select! {
                biased;
                reported = &mut report => break reported,
                () = &mut keeping, if kept => kept = false,
                () = &mut last_try, if !kept => break Err(Status::aborted("the lease is not renewed any more")),
                () = &mut overdue => break Err(Status::aborted("this worker has to end")),
            }
        };
        let Err(status) = reported else {
            return;
        };
        tracing::error!(
            task_name = self.lease.task_name,
            run.id = %self.lease.run,
            error = %CallFailure(&status),
            "the end of the run could not be reported"
        );
    }

    /// Sends the end of the attempt with the rest of the log, or with as much of the log as fits into the message.
    pub(crate) async fn report(
        &self,
        ended: Ended,
        log: &RunLog,
        whole_log: bool,
    ) -> Result<Reported, Status> {
        // Lines beyond one message are sent first; the rest is stored with the end of the run.
        let mut parts: Vec<_> = chunks(log.take(), |line| line.text.len()).collect();
        // A plan may need the whole message.
        let last = match ended.outcome {
            AttemptOutcome::Planned(_) => Vec::new(),
            _ => parts.pop().unwrap_or_default(),
        };
        let scheduler = &self.shared.scheduler;
        if whole_log {
            for lines in parts {
                if let Err(error) = scheduler.append_log(&self.lease, lines).await {
                    tracing::debug!(run.id = %self.lease.run, error = %CallFailure(&error), "log lines are lost");
                }
            }
        }
        let attempt = EndedAttempt {
            run: &self.lease.run.to_string(),
            task: &self.lease.task_name,
            number: self.lease.attempt,
            outcome: ended.outcome.as_str(),
            failed: matches!(
                ended.outcome,
                AttemptOutcome::Failed(_) | AttemptOutcome::Declined(_)
            ),
        };
        let held_for = self.acquired.elapsed();
        let reported = scheduler.complete(&self.lease, ended, last, held_for).await;
        let keep = reported.as_ref().ok().and_then(|answer| answer.keep_trace);
        self.spans.export(keep, attempt);
        reported
    }
}
