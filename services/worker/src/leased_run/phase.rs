//! The phase of an attempt, for its renewals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{CurrentPhase, RunPhase};
use cts_terraform::{OutputLine, OutputSink, Step};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// A phase that lasts longer than this is reported before the next renewal is due.
const LASTING: Duration = Duration::from_secs(2);

/// The phase that goes on, with its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begun {
    phase: RunPhase,
    at: Instant,
}

/// Follows the phases of an attempt.
#[derive(Debug)]
pub(crate) struct PhaseWatch {
    current: watch::Sender<Begun>,
    reported: Mutex<Option<Begun>>,
}

/// A phase that a renewal reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseReport(Begun);

impl PhaseReport {
    /// The phase, as long as it has lasted.
    pub(crate) fn current(self) -> CurrentPhase {
        CurrentPhase {
            phase: self.0.phase,
            lasted: self.0.at.elapsed(),
        }
    }
}

impl PhaseWatch {
    /// An attempt begins.
    pub(crate) fn begin() -> Self {
        let begun = Begun {
            phase: RunPhase::Render,
            at: Instant::now(),
        };
        Self {
            current: watch::Sender::new(begun),
            reported: Mutex::default(),
        }
    }

    /// A report of the current phase.
    pub(crate) fn report(&self) -> PhaseReport {
        PhaseReport(*self.current.borrow())
    }

    /// A scheduler has the report.
    pub(crate) fn confirm(&self, report: PhaseReport) {
        *self.reported.lock() = Some(report.0);
    }

    /// Returns once a phase that is not reported has lasted for a while.
    pub(crate) async fn lasts_unreported(&self) {
        let mut current = self.current.subscribe();
        loop {
            let begun = *current.borrow_and_update();
            let is_reported = *self.reported.lock() == Some(begun);
            tokio::select! {
                biased;
                // The sender lives as long as this future.
                _changed = current.changed() => {}
                () = sleep_until(begun.at + LASTING), if !is_reported => return,
            }
        }
    }

    /// Output of the commands of the attempt, passed on to `sink`: each command begins a phase.
    pub(crate) fn of_commands(self: &Arc<Self>, sink: Arc<dyn OutputSink>) -> Arc<dyn OutputSink> {
        Arc::new(PhasedOutput {
            phases: Arc::clone(self),
            sink,
        })
    }
}

struct PhasedOutput {
    phases: Arc<PhaseWatch>,
    sink: Arc<dyn OutputSink>,
}

impl fmt::Debug for PhasedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhasedOutput").finish_non_exhaustive()
    }
}

impl OutputSink for PhasedOutput {
    fn line(&self, line: OutputLine) {
        self.sink.line(line);
    }

    fn event(&self, line: &str) {
        self.sink.event(line);
    }

    fn step_began(&self, step: Step) {
        if let Some(phase) = phase_of(step) {
            let at = Instant::now();
            self.phases.current.send_replace(Begun { phase, at });
        }
        self.sink.step_began(step);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.sink.step_ended(step, took);
    }
}

/// The phase that a command begins; other commands are short, and belong to the phase before.
const fn phase_of(step: Step) -> Option<RunPhase> {
    match step {
        Step::Init => Some(RunPhase::Init),
        Step::Validate => Some(RunPhase::Validate),
        Step::Plan => Some(RunPhase::Plan),
        Step::Apply => Some(RunPhase::Apply),
        Step::Show
        | Step::Unlock
        | Step::Schemas
        | Step::Output
        | Step::Workspaces
        | Step::PullState
        | Step::PushState => None,
    }
}

#[cfg(test)]
mod tests {
    use cts_terraform::Discard;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_phase_that_lasts_is_reported_once() {
        let phases = Arc::new(PhaseWatch::begin());
        let output = phases.of_commands(Arc::new(Discard));
        let start = Instant::now();
        let short = async {
            sleep(Duration::from_secs(1)).await;
            output.step_began(Step::Init);
            sleep(Duration::from_secs(1)).await;
            output.step_began(Step::Workspaces);
            output.step_began(Step::Apply);
        };
        tokio::join!(phases.lasts_unreported(), short);
        assert_eq!(start.elapsed(), Duration::from_secs(4));
        let report = phases.report();
        let expected = CurrentPhase {
            phase: RunPhase::Apply,
            lasted: LASTING,
        };
        assert_eq!(report.current(), expected);
        phases.confirm(report);
        let again = tokio::time::timeout(LASTING * 10, phases.lasts_unreported()).await;
        assert!(again.is_err(), "the phase is reported already");
    }
}
