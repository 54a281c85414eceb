//! The renewals of a lease: while Terraform may write, and after that.

use std::time::Duration;

use cts_core::{Backoff, Pauses};
use cts_rpc::CallFailure;
use cts_runtime::{Outage, log_failure};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::LeasedRun;
use crate::calls::is_outage;
use crate::lease::LeaseEnd;

/// Longest time for one attempt at a renewal; the next attempt may reach another scheduler.
const RENEWAL: Duration = Duration::from_secs(2);

/// Longest time for finding out whether a late grant is still good.
const CONFIRMATION: Duration = Duration::from_secs(5);

/// Pauses between failed tries.
const RETRIES: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(1));

/// The outcome of one attempt at a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Granted(Duration),
    Refused,
    NoAnswer,
}

impl LeasedRun {
    /// Determines when a late grant began to count: its call had to wait for a scheduler, or the scheduler for its
    /// database, and the part of that wait before the grant is unknown. For a renewal the moment of the request is
    /// known. Must be called before any work begins under the lease, so that nothing has been given up by then.
    pub(crate) async fn confirm(&self, stop: &CancellationToken) -> Result<(), LeaseEnd> {
        let mut tries = Tries::default();
        let confirmed = async {
            while self.now() >= self.deadlines().renew_at() {
                let asked = self.now();
                match self.try_to_renew(&mut tries).await {
                    Renewal::Granted(life) => {
                        let mut state = self.lock();
                        state.deadlines = state.deadlines.renewed(asked, life);
                    }
                    Renewal::Refused => return Err(LeaseEnd::Refused),
                    Renewal::NoAnswer => sleep(tries.pauses.next_pause()).await,
                }
            }
            Ok(())
        };
        tokio::select! {
            biased;
            confirmed = timeout(CONFIRMATION, confirmed) => confirmed.unwrap_or(Err(LeaseEnd::Unanswered)),
            () = stop.cancelled() => Err(LeaseEnd::Unanswered),
        }
    }

    /// Whether a call that was refused with this status is worth a retry: the scheduler regarded the lease as over, and
    /// has renewed the lease now. A lease that has expired and was not taken back is in force again after a renewal.
    /// The deadlines stay as they are.
    pub(crate) async fn is_in_force_again(&self, refused: &Status) -> bool {
        if refused.code() != Code::FailedPrecondition {
            return false;
        }
        let mut tries = Tries::default();
        let answered = async {
            loop {
                match self.try_to_renew(&mut tries).await {
                    Renewal::Granted(_) => return true,
                    Renewal::Refused => return false,
                    Renewal::NoAnswer => sleep(tries.pauses.next_pause()).await,
                }
            }
        };
        timeout(CONFIRMATION, answered).await.unwrap_or(false)
    }

    /// Renews the lease while Terraform may write, and reports each phase that lasts. Returns when the lease is lost, at
    /// the latest when the [`LeaseDeadlines`](cts_core::lease::LeaseDeadlines) require to give it up.
    pub(crate) async fn keep_lease(&self) -> LeaseEnd {
        loop {
            let deadlines = self.deadlines();
            let give_up = self.moment(deadlines.stop_by());
            tokio::select! {
                biased;
                () = sleep_until(give_up) => return LeaseEnd::Stalled,
                () = sleep_until(self.moment(deadlines.renew_at())) => {}
                () = self.phases.lasts_unreported() => {}
            }
            let mut tries = Tries::default();
            loop {
                let asked = self.now();
                if !deadlines.is_held(asked) {
                    return tries.end();
                }
                match timeout_at(give_up, Box::pin(self.try_to_renew(&mut tries))).await {
                    Ok(Renewal::Granted(life)) if deadlines.is_held(self.now()) => {
                        self.lock().deadlines = deadlines.renewed(asked, life);
                        self.tell_guard();
                        break;
                    }
                    Ok(Renewal::Refused) => return LeaseEnd::Refused,
                    Ok(Renewal::NoAnswer) => pause(tries.pauses.next_pause(), give_up).await,
                    Ok(Renewal::Granted(_)) | Err(_) => return LeaseEnd::Unanswered,
                }
            }
        }
    }

    /// Renews the lease after the end of Terraform, however long the scheduler cannot be reached. Returns when a
    /// scheduler reports that the lease is over, or after `most` renewals in a row.
    ///
    /// An expired lease that was not taken back is still valid for the report, so it is not given up.
    pub(super) async fn keep_ended(&self, most: u32) {
        let mut in_a_row = 0;
        while in_a_row < most {
            sleep_until(self.moment(self.deadlines().renew_at())).await;
            let mut tries = Tries::default();
            loop {
                let asked = self.now();
                match self.try_to_renew(&mut tries).await {
                    Renewal::Granted(life) => {
                        let mut state = self.lock();
                        state.deadlines = state.deadlines.renewed(asked, life);
                        in_a_row += 1;
                        break;
                    }
                    Renewal::Refused => return,
                    Renewal::NoAnswer => {
                        in_a_row = 0;
                        sleep(tries.pauses.next_pause()).await;
                    }
                }
            }
        }
    }

    async fn try_to_renew(&self, tries: &mut Tries) -> Renewal {
        let phase = self.phases.report();
        let renewal = self.shared.scheduler.renew(&self.lease, phase.current());
        let answer = timeout(RENEWAL, renewal).await;
        let cause = match answer {
            Ok(Ok((life, order))) => {
                self.phases.confirm(phase);
                self.note_order(order);
                return Renewal::Granted(life);
            }
            Ok(Err(status)) if status.code() == Code::FailedPrecondition => {
                return Renewal::Refused;
            }
            Ok(Err(status)) if !is_outage(&status) => {
                log_failure!(tries.outage, run.id = %self.lease.run, error = %CallFailure(&status), "cannot renew a lease");
                return Renewal::NoAnswer;
            }
            Ok(Err(status)) => CallFailure(&status).to_string(),
            Err(elapsed) => elapsed.to_string(),
        };
        tries.outage.fails();
        tracing::debug!(run.id = %self.lease.run, error = cause, "cannot renew a lease");
        Renewal::NoAnswer
    }
}

/// The failed tries since the last renewal.
#[derive(Debug)]
struct Tries {
    outage: Outage,
    pauses: Pauses,
}

impl Default for Tries {
    fn default() -> Self {
        Self {
            outage: Outage::default(),
            pauses: RETRIES.pauses(fastrand::f64),
        }
    }
}

impl Tries {
    /// How a lease was lost after these tries.
    const fn end(&self) -> LeaseEnd {
        if self.outage.is_on() {
            LeaseEnd::Unanswered
        } else {
            LeaseEnd::Stalled
        }
    }
}

/// Pauses between two tries, until the lease is to be given up at the latest. If this process stood still while an
/// answer was on its way, that moment is over when the answer is read, and nothing may begin in the meantime.
async fn pause(pause: Duration, give_up: Instant) {
    let _given_up = timeout_at(give_up, sleep(pause)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_between_tries_does_not_outlast_the_lease() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        pause(second, start + second * 2).await;
        assert_eq!(start.elapsed(), second);
        pause(second * 5, start + second * 2).await;
        assert_eq!(start.elapsed(), second * 2);
        // The process stood still until the lease was over.
        pause(second * 5, start + second).await;
        assert_eq!(start.elapsed(), second * 2);
    }
}
