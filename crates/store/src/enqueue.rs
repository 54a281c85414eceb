//! A request to queue an input: reads the stored rows and decides which writes follow. For implementations.

mod guarded_task;

use chrono::DateTime;
use cts_core::runs::{
    Accompanied, EnqueueDecision, QueuedApply, RequestState, RunCause, RunStatus, TaskRuns,
    WantedApply, add_causes, decide_enqueue, forgets_attempts, may_enqueue,
};
use cts_core::{
    Baseline, Blocked, Digest, EventId, InstanceCounts, Loss, RunId, RunTrace, TaskPhase,
    losses_text,
};

use self::guarded_task::baseline;
pub use self::guarded_task::{BrakedTask, GuardChange, GuardedTask, instances_of};

use crate::approval::rejection;
use crate::cell::encoded;
use crate::error::{LeaderError, StoreError};
use crate::fields::{Columns, Fields};
use crate::model::{EnqueueRequest, Enqueued, Unchanged};
use crate::task::{Refused, RefusedCode};

/// Why runs were not queued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// A content that was stored when the other contents were encoded no longer exists.
    #[error("a content of an input was forgotten meanwhile")]
    Forgotten,
    /// The leader was deposed, or the database has failed.
    #[error(transparent)]
    Leader(#[from] LeaderError),
}

impl From<StoreError> for EnqueueError {
    fn from(error: StoreError) -> Self {
        Self::Leader(error.into())
    }
}

/// Input of the rules about the task of a request.
#[derive(Debug)]
pub struct EnqueueContext {
    runs: TaskRuns,
    queued: Option<RunId>,
    queued_due: Option<i64>,
    queued_trace: Option<RunTrace>,
    queued_cause: Option<RunCause>,
    /// The cause of the newest apply, if it has ended without success and no run continues it.
    ended_cause: Option<RunCause>,
    /// When the leased run that waits for a condition outside of cts was due.
    waiting_due: Option<i64>,
    tried: Option<Digest>,
    has_failed: bool,
    skip_unchanged: bool,
    phase: TaskPhase,
    enabled: bool,
    request_state: RequestState,
    accompanies: Option<Accompanied>,
    earlier: Option<RunStatus>,
    baseline: Baseline,
    held: Option<Blocked>,
    /// Its queued apply waits for a decision about its effect.
    queued_awaits: bool,
    /// Some effects of the task need consent.
    has_approvals: bool,
    /// Why a person has rejected the withheld input.
    rejection: Option<String>,
}

/// Plan for a request: its result and the writes, in this order.
#[derive(Debug)]
pub struct EnqueuePlan {
    /// The result.
    pub answer: Enqueued,
    /// The input gets all its attempts again.
    pub not_tried: bool,
    /// The queued apply is cancelled.
    pub cancels: bool,
    /// The run of the request is queued.
    pub inserts: Option<QueuePosition>,
    /// The queued apply gets this input, and all its attempts.
    pub replaces: bool,
    /// The failures are of earlier inputs; this input has not failed.
    pub begins_anew: bool,
    /// The withheld input of a cancelled run is no longer withheld.
    pub ends_withholding: bool,
    /// An input needed no run.
    pub skips: bool,
    /// Event of a tick that found nothing new.
    pub tick: Option<EventId>,
    /// Key of the inserted run, which is the newest check of its task.
    pub check_key: Option<Digest>,
    /// The run of the result fails now.
    pub fails: Option<RunId>,
    /// Change of the stored state of the shrink limit.
    pub guard: Option<GuardChange>,
    /// The trace of the inserted run, or of the queued run that gets this input.
    pub trace: Option<RunTrace>,
    /// The cause of the inserted run, or of the queued run that gets this input.
    pub cause: Option<RunCause>,
    /// Effects that need consent: the data need none of them now, or need those of this input again.
    pub effects: Option<EffectsAre>,
}

/// See [`EnqueuePlan::effects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectsAre {
    /// The applied input is the newest one.
    Gone,
    /// This input is the newest one.
    Back,
}

/// The stored form of a run's trace.
pub fn stored_trace(trace: Option<&RunTrace>) -> Result<Option<String>, StoreError> {
    let trace = trace.map(|trace| encoded("store a trace", trace));
    trace.transpose()
}

/// The stored form of a run's cause.
pub fn stored_cause(cause: Option<&RunCause>) -> Result<Option<String>, StoreError> {
    let cause = cause.map(|cause| encoded("store a cause", cause));
    cause.transpose()
}

/// Position of a new run in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePosition {
    /// The run carries out an open request, and has one attempt.
    pub requested: bool,
    /// When the replaced run was due, in microseconds since 1970.
    pub place: Option<i64>,
}

impl EnqueueContext {
    /// Reads a row of `tasks` with the columns of the task and these:
    ///
    /// * the task: `has_failed`, and `applied_instances` of the newest apply
    /// * its queued apply: `queued_id`, `queued_input`, `queued_no_retry`, `queued_braked`, `queued_due`, `queued_trace`
    ///   and `queued_cause`
    /// * its newest apply, if it has ended without success and no run continues it: `ended_cause`
    /// * consent: whether the queued apply waits (`queued_awaits`), whether any effect needs consent (`has_approvals`), and who
    ///   has rejected the withheld input (`rejected_by`, `rejected_comment`)
    /// * its running apply: `running_input`, `running_withdrawn` and `running_instances`
    /// * its leased apply that waits: `waiting_due`
    /// * the run with the id of the request: `earlier` and `earlier_requested`
    /// * the request: `request_open` and `request_accompanies`
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let operation = "read the runs of a task";
        let task = Fields::new(row, operation, "tasks").keyed("name")?;
        let runs = Fields::new(row, operation, "runs").keyed("name")?;
        let queued_input = runs.parse_under("queued_input", "input_hash")?;
        let no_retry = runs.flag_if_any("queued_no_retry")?;
        let braked = runs.flag_if_any("queued_braked")? == Some(true);
        let earlier = runs.text_if_any("earlier")?;
        let rejected_by = task.text_if_any("rejected_by")?;
        let comment = task.text_if_any("rejected_comment")?.unwrap_or_default();
        let earlier = earlier.map(|status| runs.cell("status").run_status(status));
        Ok(Self {
            runs: TaskRuns {
                queued: queued_input
                    .zip(no_retry)
                    .map(|(input, no_retry)| QueuedApply {
                        input,
                        no_retry,
                        braked,
                    }),
                running: runs.parse_under("running_input", "input_hash")?,
                withdrawn: runs.flag_if_any("running_withdrawn")? == Some(true),
                last_applied: task.parse_if_any("last_applied")?,
                withheld: task.parse_if_any("cancelled_input")?,
                rejected: rejected_by.is_some(),
                owes: task.text_if_any("owes_run")?.is_some(),
            },
            queued: runs.id_under("queued_id", "id")?,
            queued_due: runs.integer_if_any("queued_due")?,
            queued_trace: runs.json_if_any("queued_trace")?,
            queued_cause: runs.json_if_any("queued_cause")?,
            ended_cause: runs.json_if_any("ended_cause")?,
            waiting_due: runs.integer_if_any("waiting_due")?,
            tried: task.parse_if_any("tried_input")?,
            has_failed: task.flag("has_failed")?,
            skip_unchanged: task.flag("skip_unchanged")?,
            phase: task.phase("phase")?,
            enabled: task.flag("enabled")?,
            request_state: match (
                runs.flag_if_any("earlier_requested")?,
                task.flag_if_any("request_open")?,
            ) {
                (Some(true), _) => RequestState::Queued,
                (_, Some(true)) => RequestState::Open,
                (_, Some(false)) => RequestState::Refused,
                (_, None) => RequestState::None,
            },
            accompanies: task.json_if_any("request_accompanies")?,
            earlier: earlier.transpose()?,
            baseline: baseline(&task)?,
            held: task.json_if_any("held")?,
            queued_awaits: runs.flag_if_any("queued_awaits")? == Some(true),
            has_approvals: task.flag("has_approvals")?,
            rejection: rejected_by.map(|by| rejection(by, comment)),
        })
    }

    /// Decides a request; `now` is in microseconds since 1970. Without a `situation`, the task does not exist.
    pub fn decide(context: Option<&Self>, request: &EnqueueRequest, now: i64) -> EnqueuePlan {
        let mut plan = EnqueuePlan {
            answer: Enqueued {
                task: request.task.clone(),
                decision: None,
                queued: None,
                cancelled: None,
                losses: Vec::new(),
                by_brake: false,
                refused: None,
            },
            not_tried: false,
            cancels: false,
            inserts: None,
            replaces: false,
            begins_anew: false,
            ends_withholding: false,
            skips: false,
            tick: None,
            check_key: None,
            fails: None,
            guard: None,
            trace: request.trace.clone(),
            cause: request.cause.clone(),
            effects: None,
        };
        for arrived in &request.causes {
            add_causes(&mut plan.cause.get_or_insert_default().causes, [arrived.id]);
        }
        let may = |it: &&Self| may_enqueue(it.phase, it.enabled, request.kind, it.request_state);
        if let Some(context) = context.filter(may) {
            let decision = context.decision(request, &mut plan);
            plan.answer.decision = Some(decision);
            if request.kind.applies() {
                context.apply_decision(decision, request, &mut plan);
                context.note_cause(decision, &mut plan);
                context.note_blocked(decision, request, &mut plan, now);
                plan.effects = context.effects(decision, request.input.hash);
                plan.answer.refused = context.refusal(decision, &plan.answer.losses);
            } else {
                // A run that applies nothing is queued in addition to all other runs.
                let queued = context.earlier.unwrap_or(RunStatus::Queued) == RunStatus::Queued;
                plan.answer.queued = queued.then_some(request.run);
                let is_new = decision == EnqueueDecision::Enqueue;
                plan.inserts = is_new.then(|| context.queue_position(None));
                plan.check_key = request.check_key.filter(|_| is_new);
            }
            let begins = plan.inserts.is_some() || plan.replaces;
            plan.fails = plan
                .answer
                .queued
                .filter(|_| begins && request.fails.is_some());
        }
        plan
    }

    /// Merges the cause of the replaced queued run into the cause, the causes of the newest apply if it has not
    /// succeeded, and the block that ends or goes on.
    fn note_cause(&self, decision: EnqueueDecision, plan: &mut EnqueuePlan) {
        let ended = self.ended_cause.as_ref().filter(|_| plan.inserts.is_some());
        for id in ended.into_iter().flat_map(|ended| &ended.causes) {
            add_causes(&mut plan.cause.get_or_insert_default().causes, [*id]);
        }
        if let (EnqueueDecision::Replace | EnqueueDecision::Supersede, Some(queued)) =
            (decision, &self.queued_cause)
        {
            let mut cause = queued.clone();
            if let Some(later) = &plan.cause {
                cause.merge(later);
            }
            plan.cause = Some(cause);
        }
        if let Some(held) = &self.held {
            let cause = plan.cause.get_or_insert_default();
            cause.blocked_since = cause.blocked_since.or(Some(held.since));
            add_causes(&mut cause.causes, held.causes.iter().copied());
        }
    }

    fn decision(&self, request: &EnqueueRequest, plan: &mut EnqueuePlan) -> EnqueueDecision {
        if self.earlier.is_some() {
            return EnqueueDecision::Keep;
        }
        if !request.kind.applies() {
            return EnqueueDecision::Enqueue;
        }
        (plan.answer.losses, plan.answer.by_brake) = self.losses(request);
        let guarded = request.guarded.as_ref();
        let is_braked_pass = plan.answer.by_brake && guarded.is_some_and(|it| it.is_of_pass);
        let wanted = WantedApply {
            input: request.input.hash,
            skip_unchanged: match request.unchanged {
                Unchanged::AsTaskSays => self.skip_unchanged,
                Unchanged::Skip => true,
                Unchanged::Run => false,
            },
            requested: self.request_state == RequestState::Open,
            accompanies: self.accompanies.is_some() || is_braked_pass,
            // The limit has let an earlier input through, but the brake has not.
            loses_much: !plan.answer.losses.is_empty()
                && (plan.answer.by_brake || !self.lets_through(request)),
        };
        let decision = decide_enqueue(self.runs, wanted);
        plan.not_tried = forgets_attempts(self.tried, self.runs, wanted, decision);
        decision
    }

    fn lets_through(&self, request: &EnqueueRequest) -> bool {
        let before = self.accompanies.and_then(|it| it.let_through);
        before == Some(request.input.hash)
    }

    /// Why the request is refused, if the shrink limit blocks it or its input is withheld.
    fn refusal(&self, decision: EnqueueDecision, losses: &[Loss]) -> Option<Refused> {
        if self.request_state != RequestState::Open || self.earlier.is_some() {
            return None;
        }
        let reason = match decision {
            EnqueueDecision::Block => losses_text(losses).unwrap_or_default(),
            EnqueueDecision::Withhold => self.rejection.clone().unwrap_or_else(|| {
                "a run of the same input was cancelled, so the task waits for newer data or a requested run".to_owned()
            }),
            _ => return None,
        };
        let code = if self.runs.rejected && decision == EnqueueDecision::Withhold {
            RefusedCode::Withdrawn
        } else {
            RefusedCode::Held
        };
        Some(Refused { code, reason })
    }

    fn apply_decision(
        &self,
        decision: EnqueueDecision,
        request: &EnqueueRequest,
        plan: &mut EnqueuePlan,
    ) {
        let answer = &mut plan.answer;
        answer.queued = self.queued;
        match decision {
            EnqueueDecision::Enqueue => {
                // A waiting run yields its position in the queue to the new run. Runs with the same due time are
                // ordered by id, so one microsecond less puts the new run before them.
                let place = self.waiting_due.map(|due| due.saturating_sub(1).max(0));
                plan.inserts = Some(self.queue_position(place));
                answer.queued = Some(request.run);
            }
            EnqueueDecision::Supersede => {
                plan.cancels = true;
                // A run that replaces a queued run takes its position in the queue.
                plan.inserts = Some(self.queue_position(self.queued_due));
                answer.cancelled = answer.queued.replace(request.run);
            }
            EnqueueDecision::Replace => {
                plan.replaces = true;
                let queued = self.queued_trace.clone();
                plan.trace = match &request.trace {
                    Some(later) => {
                        let mut trace = queued.unwrap_or_default();
                        trace.merge(later);
                        Some(trace)
                    }
                    None => queued,
                };
            }
            EnqueueDecision::Keep | EnqueueDecision::Block | EnqueueDecision::Withhold => {}
            EnqueueDecision::Skip { cancel_queued } => {
                plan.skips = true;
                // The event of a running run shows whether its input was applied.
                plan.tick = request.tick.filter(|_| self.runs.running.is_none());
                // A run that waits for consent stays for a while: its data may come back.
                if cancel_queued && !self.queued_awaits {
                    plan.cancels = true;
                    answer.cancelled = answer.queued.take();
                }
            }
        }
        let begins = plan.inserts.is_some() || plan.replaces;
        plan.begins_anew = self.has_failed && begins;
        let withheld = self.runs.withheld;
        plan.ends_withholding =
            withheld.is_some() && (begins || plan.skips && withheld != Some(request.input.hash));
    }

    /// Losses of the request, and whether the brake of the fleet forbids some; none for a task that was not applied yet,
    /// because no instances exist to compare with.
    fn losses(&self, request: &EnqueueRequest) -> (Vec<Loss>, bool) {
        let Some(guarded) = &request.guarded else {
            return (Vec::new(), false);
        };
        let brake = guarded.brake.as_ref();
        self.baseline.held(guarded.guard, brake, &guarded.counts)
    }

    fn note_blocked(
        &self,
        decision: EnqueueDecision,
        request: &EnqueueRequest,
        plan: &mut EnqueuePlan,
        now: i64,
    ) {
        // The result of an earlier request does not concern a later input.
        if self.earlier.is_some() {
            return;
        }
        let cause = plan.cause.as_ref();
        let blocked = (decision == EnqueueDecision::Block).then(|| Blocked {
            causes: cause.map_or_else(Vec::new, |cause| cause.causes.clone()),
            since: self.held.as_ref().map_or_else(
                || DateTime::from_timestamp_micros(now).unwrap_or_default(),
                |held| held.since,
            ),
            losses: plan.answer.losses.clone(),
            counts: request
                .guarded
                .as_ref()
                .map_or_else(InstanceCounts::default, |guarded| guarded.counts.clone()),
            brake: guarded_brake(request).filter(|_reference| plan.answer.by_brake),
        });
        let released = match &request.guarded {
            Some(_) if blocked.is_some() => self.baseline.released.clone(),
            Some(guarded) => self.baseline.let_through(guarded.guard, &guarded.counts),
            None => None,
        };
        let forgets = request.guarded.is_none() && self.baseline.applied.is_some();
        if forgets || blocked != self.held || released != self.baseline.released {
            plan.guard = Some(GuardChange {
                held: blocked,
                released,
                forgets,
            });
        }
    }

    /// What the decision means for the effects of the task that need consent.
    fn effects(&self, decision: EnqueueDecision, input: Digest) -> Option<EffectsAre> {
        let queued = self.runs.queued.map(|queued| queued.input);
        let has_run = queued == Some(input) || self.runs.running == Some(input);
        let effects = match decision {
            EnqueueDecision::Skip { .. } if !has_run => EffectsAre::Gone,
            EnqueueDecision::Block => return None,
            _ => EffectsAre::Back,
        };
        self.has_approvals.then_some(effects)
    }

    fn queue_position(&self, place: Option<i64>) -> QueuePosition {
        QueuePosition {
            requested: self.request_state == RequestState::Open,
            place,
        }
    }
}

fn guarded_brake(request: &EnqueueRequest) -> Option<InstanceCounts> {
    request.guarded.as_ref()?.brake.clone()
}
