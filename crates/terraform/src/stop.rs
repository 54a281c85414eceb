//! How a stop is requested, and the steps that it takes (promise P5).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A kill precedes the moment by which a process must be gone by this time, so that the kernel has time to remove the
/// process. If the time is short, [`LATEST_KILL_SHARE`] of it is kept instead.
const LATEST_KILL_MARGIN: Duration = Duration::from_millis(500);

/// The part of the remaining time that is kept free after a kill, as a divisor.
const LATEST_KILL_SHARE: u32 = 10;

/// How long each step of a gentle stop may take.
///
/// After the first interrupt, Terraform finishes the operations that have begun and releases the state lock; a second
/// signal makes it give up at once, and a kill leaves the state locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPolicy {
    /// Between SIGINT and SIGTERM.
    pub interrupt_grace: Duration,
    /// Between SIGTERM and SIGKILL.
    pub terminate_grace: Duration,
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self {
            interrupt_grace: Duration::from_secs(30),
            terminate_grace: Duration::from_secs(5),
        }
    }
}

/// The order to stop that an attempt waits for: gently, or gently and gone by a given moment.
///
/// Clones give and follow the same order. A command that waits to start when the order comes is not started any
/// more.
#[derive(Clone)]
pub struct StopSignal {
    policy: StopPolicy,
    given: CancellationToken,
    /// Cancelling this token gives the order, too, and ends the wait of all stops.
    parent: CancellationToken,
    terms: Arc<watch::Sender<StopTerms>>,
}

/// How fast a stop has to be. A later change only makes it faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StopTerms {
    /// The process must be gone by this moment.
    pub(crate) kill_by: Option<Instant>,
    /// SIGTERM is due at this moment.
    pub(crate) terminate_at: Option<Instant>,
    /// No step follows the interrupt.
    pub(crate) patient: bool,
}

impl StopSignal {
    /// An order that has not been given; stops follow `policy`.
    pub fn new(policy: StopPolicy) -> Self {
        Self::child_of(&CancellationToken::new(), policy)
    }

    /// An order that is given as soon as `parent` is cancelled; stops follow `policy`. Giving the order does
    /// not cancel `parent`.
    pub fn child_of(parent: &CancellationToken, policy: StopPolicy) -> Self {
        Self {
            policy,
            given: parent.child_token(),
            parent: parent.clone(),
            terms: Arc::default(),
        }
    }

    /// Stops the running command gently, by the policy.
    pub fn cancel(&self) {
        self.terms
            .send_if_modified(|terms| std::mem::take(&mut terms.patient));
        self.given.cancel();
    }

    /// Interrupts the running command and gives it unlimited time to end, until a different order is given. Changes
    /// nothing if the order was given before.
    pub fn interrupt(&self) {
        if !self.is_cancelled() {
            self.terms.send_modify(|terms| terms.patient = true);
            self.given.cancel();
        }
    }

    /// Terminates the running command at once, regardless of earlier orders, and kills it after the policy's time. Safe
    /// to repeat.
    pub fn terminate(&self) {
        self.terms.send_if_modified(|terms| {
            terms.patient = false;
            let is_first = terms.terminate_at.is_none();
            terms.terminate_at.get_or_insert_with(Instant::now);
            is_first
        });
        self.given.cancel();
    }

    /// Stops the running command so that its process is gone by `moment`: as [`StopSignal::cancel`], with the
    /// graces shortened in proportion if they are too long. The kill comes half a second before the moment,
    /// or with a tenth of the time left if that is less.
    ///
    /// May be given at any time, also during a stop, and again; the earliest moment counts. A moment in the
    /// past is a kill at once.
    pub fn kill_by(&self, moment: Instant) {
        // Set before the token is cancelled, so that a reader of the token sees the moment, too.
        self.terms.send_if_modified(|terms| {
            let is_earlier = terms.kill_by.is_none_or(|earliest| moment < earliest);
            if is_earlier {
                terms.kill_by = Some(moment);
            }
            is_earlier
        });
        self.given.cancel();
    }

    /// Whether the order has been given in any way.
    pub fn is_cancelled(&self) -> bool {
        self.given.is_cancelled()
    }

    /// Waits until the order is given.
    pub async fn cancelled(&self) {
        self.given.cancelled().await;
    }

    /// Waits until the attempt has to end now, whatever its work is: its parent is cancelled, or a moment is set by
    /// which everything must be gone. A stop that was requested for the work alone does not count.
    pub async fn must_end(&self) {
        let mut terms = self.terms();
        let has_moment = terms.wait_for(|terms| terms.kill_by.is_some());
        tokio::select! {
            () = self.parent_cancelled() => {}
            // The sender is in this value.
            _ = has_moment => {}
        }
    }

    /// The policy of stops that have time.
    pub const fn policy(&self) -> StopPolicy {
        self.policy
    }

    /// This order for one command. The token gives the order to that command alone, and the moment of this order
    /// applies to the command.
    pub(crate) fn for_one_command(&self) -> (Self, CancellationToken) {
        let given = self.given.child_token();
        let order = Self {
            policy: self.policy,
            given: given.clone(),
            parent: self.parent.clone(),
            terms: Arc::clone(&self.terms),
        };
        (order, given)
    }

    /// How fast the stop has to be, with later changes. This order outlives the receiver.
    pub(crate) fn terms(&self) -> watch::Receiver<StopTerms> {
        self.terms.subscribe()
    }

    /// Waits until the parent is cancelled, which ends the wait of a stop.
    pub(crate) async fn parent_cancelled(&self) {
        self.parent.cancelled().await;
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopSignal")
            .field("policy", &self.policy)
            .field("given", &self.is_cancelled())
            .field("terms", &*self.terms.borrow())
            .finish_non_exhaustive()
    }
}

/// A step of a stop, from the gentlest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopStep {
    Interrupt,
    Terminate,
    Kill,
}

impl StopStep {
    pub(crate) const fn signal(self) -> Signal {
        match self {
            Self::Interrupt => Signal::SIGINT,
            Self::Terminate => Signal::SIGTERM,
            Self::Kill => Signal::SIGKILL,
        }
    }
}

/// The course of one stop. All times are counted from the beginning of the stop, so that the sequence needs no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StopSequence {
    policy: StopPolicy,
    terminate_at: Duration,
    kill_at: Duration,
    patient: bool,
}

/// Practically never.
const NEVER: Duration = Duration::from_hours(24 * 365 * 30);

impl StopSequence {
    pub(crate) const fn new(policy: StopPolicy) -> Self {
        Self {
            policy,
            terminate_at: policy.interrupt_grace,
            kill_at: policy
                .interrupt_grace
                .saturating_add(policy.terminate_grace),
            patient: false,
        }
    }

    /// A course in which no step follows the interrupt, until a later order makes it faster.
    pub(crate) const fn patient(policy: StopPolicy) -> Self {
        Self {
            policy,
            terminate_at: NEVER,
            kill_at: NEVER,
            patient: true,
        }
    }

    pub(crate) const fn is_patient(&self) -> bool {
        self.patient
    }

    /// The steps of the policy begin at `now`.
    pub(crate) fn end_patience(&mut self, now: Duration) {
        if std::mem::take(&mut self.patient) {
            self.terminate_at = self.terminate_at.min(now + self.policy.interrupt_grace);
            self.kill_at = self
                .kill_at
                .min(self.terminate_at + self.policy.terminate_grace);
        }
    }

    /// SIGTERM is due at `at`, and SIGKILL after the terminate grace of the policy.
    fn terminate(&mut self, at: Duration) {
        self.patient = false;
        self.terminate_at = self.terminate_at.min(at);
        self.kill_at = self.kill_at.min(at + self.policy.terminate_grace);
    }

    /// Becomes as fast as `terms` require at `now`. Times are counted from the beginning, which was at
    /// `begun`.
    pub(crate) fn follow(&mut self, terms: StopTerms, begun: Instant, now: Duration) {
        if let Some(at) = terms.terminate_at {
            self.terminate(at.saturating_duration_since(begun));
        } else if !terms.patient {
            self.end_patience(now);
        }
        if let Some(kill_by) = terms.kill_by {
            self.hurry(now, kill_by.saturating_duration_since(begun));
        }
    }

    /// At `now` the caller learns that the process must be gone at `gone_at`. The policy's graces share the remaining
    /// time in proportion. Never makes a stop slower.
    pub(crate) fn hurry(&mut self, now: Duration, gone_at: Duration) {
        let StopPolicy {
            interrupt_grace,
            terminate_grace,
        } = self.policy;
        let whole = interrupt_grace.saturating_add(terminate_grace);
        if whole.is_zero() {
            return;
        }
        let usable = until_latest_kill(gone_at.saturating_sub(now));
        let share = interrupt_grace.as_secs_f64() / whole.as_secs_f64();
        self.terminate_at = self.terminate_at.min(now + usable.mul_f64(share));
        self.kill_at = self.kill_at.min(now + usable);
    }

    /// Another process sent the interrupt, and SIGTERM is due at `at` at the latest.
    pub(crate) fn terminate_by(&mut self, at: Duration) {
        self.terminate_at = self.terminate_at.min(at);
    }

    /// The step that must have been taken at `now`.
    pub(crate) fn due(&self, now: Duration) -> StopStep {
        if now >= self.kill_at {
            StopStep::Kill
        } else if now >= self.terminate_at {
            StopStep::Terminate
        } else {
            StopStep::Interrupt
        }
    }

    /// When the next step is due.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        match self.due(now) {
            StopStep::Interrupt => Some(self.terminate_at),
            StopStep::Terminate => Some(self.kill_at),
            StopStep::Kill => None,
        }
    }
}

/// How much of `left` may pass before the kill.
pub(crate) fn until_latest_kill(left: Duration) -> Duration {
    left.saturating_sub((left / LATEST_KILL_SHARE).min(LATEST_KILL_MARGIN))
}

#[cfg(test)]
mod tests;
