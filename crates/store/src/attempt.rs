//! The end of an attempt: reads the stored rows and decides which writes follow. For implementations.

mod attempt_end;
mod attempt_record;
mod change_times;
mod completion;
mod history;
mod leased_attempt;
mod log;

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{
    AfterAttempt, AttemptContext, AttemptEnding, AttemptOutcome, EarlyFailure, RunKind, RunStatus,
    after_attempt, after_lost_lease, becomes_ending, ends_cancelled, failure_text, is_given_back,
    keep_error,
};
use cts_core::{Destruction, TaskAfterRun, task_after_run};

pub use self::attempt_end::{AttemptEnd, AttemptWrites};
use self::attempt_record::keep_attempt;
pub use self::attempt_record::{ATTEMPTS_RECORDED, AttemptRecord};
pub use self::change_times::applied_change;
pub use self::history::attempts;
pub use self::leased_attempt::Attempt;
pub use self::log::{EXCERPT_BYTES, LogExcerpts, LogRange, log_attempts};
use crate::cancel::{cancelled_error, withdrawn_from};
use crate::cell::Cell;
use crate::error::StoreError;
use crate::event::Event;
use crate::model::{Completion, lost_lease_error};

impl Attempt {
    /// Ends the attempt as its worker reports, at `now`: microseconds since 1970.
    pub fn completed(
        mut self,
        completion: &Completion,
        now: i64,
    ) -> Result<AttemptEnd<'_>, StoreError> {
        // Treated as if the worker had only stopped; the record of the attempt keeps the error.
        let outcome = if self.is_given_back(completion) || self.is_reopened(&completion.outcome) {
            &AttemptOutcome::Interrupted
        } else {
            &completion.outcome
        };
        if let Some(error) = outcome.error(self.kind) {
            keep_error(&mut self.errors, error);
        }
        let ordered = self.cancelled;
        let by_request = ordered && ends_cancelled(outcome, self.kind);
        // A run that was ended on its server counts as cancelled. Its own error states that.
        self.cancelled |= matches!(outcome, AttemptOutcome::Declined(_));
        let after = after_attempt(outcome, self.context(completion));
        let ending = self.ending(outcome, after);
        if let Some(wait) = self.awaits_ending(after, outcome, completion) {
            return self.put_to_end(completion, (after, ending), wait, now);
        }
        if by_request {
            self.note_cancelled();
        }
        let mut end = self.ended(completion, (after, ending), now)?;
        end.cancelled &= ordered;
        Ok(end)
    }

    /// Ends the attempt because its lease has expired. The attempt counts as failed if the lease could have
    /// been renewed.
    pub fn lost(
        mut self,
        completion: &Completion,
        renewable: bool,
        now: i64,
    ) -> Result<AttemptEnd<'_>, StoreError> {
        let after = after_lost_lease(renewable, self.context(completion));
        if renewable {
            let error = lost_lease_error(completion.holder.as_str());
            keep_error(&mut self.errors, &error);
        }
        let ends = (after, AttemptEnding::LeaseLost);
        if let Some(wait) = self.awaits_ending(after, &AttemptOutcome::Interrupted, completion) {
            return self.put_to_end(completion, ends, wait, now);
        }
        if self.cancelled {
            self.note_cancelled();
        }
        self.ended(completion, ends, now)
    }

    /// The time until a worker may end the remote run, if the run ends only after the remote run.
    fn awaits_ending(
        &self,
        after: AfterAttempt,
        outcome: &AttemptOutcome,
        completion: &Completion,
    ) -> Option<Duration> {
        self.remote.as_ref()?;
        becomes_ending(after, outcome, self.context(completion), self.by_force)
    }

    /// Whether the attempt does not count because the machine of the worker is at fault.
    fn is_given_back(&self, completion: &Completion) -> bool {
        let earlier = self.records.iter().map(AttemptRecord::earlier);
        is_given_back(completion.early_failure, &completion.holder, earlier)
    }

    /// Whether the rejection because of which the worker applies nothing is forgotten by now: the run asks again.
    const fn is_reopened(&self, outcome: &AttemptOutcome) -> bool {
        self.reopened && matches!(outcome, AttemptOutcome::Declined(_))
    }

    fn note_cancelled(&mut self) {
        keep_error(&mut self.errors, cancelled_error(self.by_force));
        if let Some(remote) = &self.remote {
            keep_error(&mut self.errors, &withdrawn_from(remote));
        }
    }

    fn context(&self, completion: &Completion) -> AttemptContext {
        let context = self.context_of(completion.jitter);
        if completion.is_final {
            context.without_attempts()
        } else {
            context
        }
    }

    fn context_of(&self, jitter: f64) -> AttemptContext {
        AttemptContext {
            kind: self.kind,
            phase: self.phase,
            destroying: self.destroy_run.is_some(),
            enabled: self.enabled,
            no_retry: self.no_retry,
            tried: self.tried,
            attempts: self.attempts,
            newer_waits: self.newer_waits,
            earlier_failures: self.earlier_failures,
            retry_failed: self.retry_failed,
            waits: self.waits,
            withdrawn: self.withdrawn,
            cancelled: self.cancelled,
            state_refused: self.state_refused,
            jitter,
        }
    }

    fn ended(
        mut self,
        completion: &Completion,
        (after, ending): (AfterAttempt, AttemptEnding),
        now: i64,
    ) -> Result<AttemptEnd<'_>, StoreError> {
        let run = completion.run.to_string();
        let now = finished_at(&run).time(now)?;
        let given_back = self.is_given_back(completion);
        // A worker whose machine is at fault, or whose lease was lost, does not get the run again at once.
        let elsewhere = completion.early_failure == Some(EarlyFailure::Machine)
            || ending == AttemptEnding::LeaseLost;
        let record = self.record(completion, (after, ending), now);
        keep_attempt(&mut self.records, record);
        let (status, writes) = match after {
            AfterAttempt::Succeed => {
                let event = self.event(completion, true, now);
                (RunStatus::Succeeded, AttemptWrites::Succeed(event))
            }
            AfterAttempt::GiveUp { retry_after } => {
                let writes = AttemptWrites::GiveUp {
                    event: self.event(completion, false, now),
                    tried: self.context(completion).ends_ordinary_attempts(),
                    withheld: self.context(completion).withholds(),
                    retry_after,
                };
                (RunStatus::Failed, writes)
            }
            AfterAttempt::Retry(wait) => {
                let writes = AttemptWrites::PutBack {
                    attempts: self.attempts,
                    wait,
                    elsewhere,
                };
                (RunStatus::Queued, writes)
            }
            AfterAttempt::Requeue => {
                let writes = AttemptWrites::PutBack {
                    attempts: self.attempts.saturating_sub(1),
                    wait: Duration::ZERO,
                    elsewhere,
                };
                (RunStatus::Queued, writes)
            }
            AfterAttempt::Suspend => (RunStatus::Queued, AttemptWrites::Suspend),
            AfterAttempt::Cancel => (RunStatus::Cancelled, AttemptWrites::Close { plan: None }),
            AfterAttempt::End { succeeded: false } => {
                (RunStatus::Failed, AttemptWrites::Close { plan: None })
            }
            AfterAttempt::End { succeeded: true } => {
                let plan = match &completion.outcome {
                    AttemptOutcome::Planned(plan) => Some(plan),
                    _ => None,
                };
                (RunStatus::Succeeded, AttemptWrites::Close { plan })
            }
        };
        Ok(AttemptEnd {
            task_after: task_after_run(self.phase, self.creation, self.destruction(), status),
            status,
            writes,
            completion,
            task: self.task,
            kind: self.kind,
            cancelled: self.cancelled && self.kind.applies(),
            input: self.input,
            attempt: self.attempts,
            given_back,
            errors: self.errors,
            records: self.records,
        })
    }

    /// Keeps the run running, without a holder, until a worker has ended its remote run.
    fn put_to_end(
        mut self,
        completion: &Completion,
        ends: (AfterAttempt, AttemptEnding),
        wait: Duration,
        now: i64,
    ) -> Result<AttemptEnd<'_>, StoreError> {
        let run = completion.run.to_string();
        let now = finished_at(&run).time(now)?;
        let record = self.record(completion, ends, now);
        keep_attempt(&mut self.records, record);
        Ok(AttemptEnd {
            task_after: TaskAfterRun::Stays,
            status: RunStatus::Running,
            writes: AttemptWrites::EndRemote { wait },
            given_back: false,
            completion,
            task: self.task,
            kind: self.kind,
            cancelled: self.cancelled && self.kind.applies(),
            input: self.input,
            attempt: self.attempts,
            errors: self.errors,
            records: self.records,
        })
    }

    fn destruction(&self) -> Destruction {
        match (self.destroy_run, self.kind) {
            (None, _) => Destruction::None,
            (Some(_), RunKind::Destroy) => Destruction::Run,
            (Some(run), _) => Destruction::Waits(run),
        }
    }

    fn event(&self, completion: &Completion, success: bool, now: DateTime<Utc>) -> Event {
        Event {
            id: completion.event,
            task_name: self.task.clone(),
            run_id: Some(completion.run),
            success,
            start_time: self.started_at,
            end_time: now,
            error: (!success).then(|| failure_text(&self.errors, self.attempts)),
            resources: completion.resources(),
            remote_url: completion
                .remote_url()
                .or_else(|| self.remote.as_ref()?.url.clone()),
            // The store takes both values from the row of the run.
            requested_by: None,
            cause: None,
            config: self.event_config.clone(),
        }
    }
}

const fn finished_at(run: &str) -> Cell<'_> {
    Cell {
        table: "runs",
        column: "finished_at",
        row: run,
    }
}
