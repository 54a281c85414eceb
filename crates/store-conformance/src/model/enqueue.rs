//! The part of the model that queues inputs.

use std::time::Duration;

use cts_core::runs::{
    EnqueueDecision, QueuedApply, RequestState, RunKind, RunStatus, TaskRuns, WantedApply,
    decide_enqueue, forgets_attempts, may_enqueue,
};
use cts_core::{Loss, RunId, TaskName, losses_text};

use super::{Model, ModelEvent, ModelTask};
use cts_store::{EnqueueRequest, Enqueued, Refused, RefusedCode, Unchanged};

/// A newer input of a run that waits comes before runs that were due at the same time.
const MICROSECOND: Duration = Duration::from_micros(1);

fn held_because(decision: EnqueueDecision, losses: &[Loss]) -> Refused {
    let withheld = "a run of the same input was cancelled, so the task waits for newer data or a requested run";
    let reason = match decision {
        EnqueueDecision::Block => losses_text(losses).unwrap_or_default(),
        _ => withheld.to_owned(),
    };
    Refused {
        code: RefusedCode::Held,
        reason,
    }
}

impl Model {
    pub fn enqueue(&mut self, request: &EnqueueRequest) -> Enqueued {
        let mut answer = Enqueued {
            task: request.task.clone(),
            decision: None,
            queued: None,
            cancelled: None,
            losses: Vec::new(),
            by_brake: false,
            refused: None,
        };
        let state = self.request_state(request);
        let may = |task: &&ModelTask| {
            let stored = &task.stored;
            may_enqueue(stored.phase, stored.spec.enabled, request.kind, state)
        };
        let Some(task) = self.tasks.get(&request.task).filter(may) else {
            return answer;
        };
        let requested = state == RequestState::Open;
        if !request.kind.applies() {
            return self.enqueue_beside(request, requested, answer);
        }
        let queued = self.only(&request.task, RunStatus::Queued);
        let running = self.only(&request.task, RunStatus::Running);
        let applying = running.filter(|id| self.runs[id].kind == RunKind::Apply);
        let hash = request.input.hash;
        // The open request pays what the task owes.
        let asks_for_apply = self.requests.values().any(|open| {
            open.task == request.task && open.kind == RunKind::Apply && open.refused.is_none()
        });
        let runs = TaskRuns {
            queued: queued.map(|id| QueuedApply {
                input: self.runs[&id].input,
                no_retry: self.runs[&id].no_retry,
                braked: false,
            }),
            running: applying.map(|id| self.runs[&id].input),
            withdrawn: applying.is_some_and(|id| self.runs[&id].withdrawn),
            last_applied: task.last_applied,
            withheld: task.withheld,
            rejected: false,
            owes: task.owes.is_some() && !asks_for_apply,
        };
        let accompanies = self.accompanied(request);
        let before = accompanies.and_then(|it| it.let_through);
        let passes = before == Some(hash);
        let known = self.runs.contains_key(&request.run);
        let decision = if known {
            EnqueueDecision::Keep
        } else {
            let guarded = request.guarded.as_ref();
            answer.losses = guarded.map_or_else(Vec::new, |guarded| {
                self.baseline(task).losses(guarded.guard, &guarded.counts)
            });
            let skip_unchanged = match request.unchanged {
                Unchanged::AsTaskSays => task.stored.spec.file_settings.skip_unchanged,
                Unchanged::Skip => true,
                Unchanged::Run => false,
            };
            let wanted = WantedApply {
                input: hash,
                skip_unchanged,
                requested,
                accompanies: accompanies.is_some(),
                loses_much: !answer.losses.is_empty() && !passes,
            };
            let decision = decide_enqueue(runs, wanted);
            if forgets_attempts(task.tried, runs, wanted, decision) {
                self.not_tried(&request.task);
            }
            decision
        };
        if !known {
            self.guard(request, decision, &answer.losses);
            self.end_withholding(request, decision);
        }
        let held = matches!(decision, EnqueueDecision::Block | EnqueueDecision::Withhold);
        if held && requested && !known {
            let why = held_because(decision, &answer.losses);
            self.refuse(request.run, &why);
            answer.refused = Some(why);
        }
        answer.decision = Some(decision);
        answer.queued = queued;
        self.note_tick(request, decision, applying);
        match decision {
            EnqueueDecision::Enqueue | EnqueueDecision::Supersede => {
                if decision == EnqueueDecision::Supersede {
                    self.run(queued).status = RunStatus::Cancelled;
                    answer.cancelled = queued;
                }
                self.insert_wanted(request, requested);
                let waits = applying.filter(|id| self.runs[id].waiting_for.is_some());
                let place = match (queued, waits) {
                    (Some(taken), _) => self.runs[&taken].due,
                    (None, Some(waits)) => self.runs[&waits].due.saturating_sub(MICROSECOND),
                    (None, None) => self.now,
                };
                self.run(Some(request.run)).due = place.min(self.now);
                self.forget_failures(&request.task);
                answer.queued = Some(request.run);
            }
            EnqueueDecision::Replace => {
                let now = self.now;
                self.store_input(request);
                let run = self.run(queued);
                (run.input, run.attempts, run.due) = (hash, 0, run.due.min(now));
                run.no_retry = false;
                self.forget_failures(&request.task);
            }
            EnqueueDecision::Skip {
                cancel_queued: true,
            } => {
                self.run(queued).status = RunStatus::Cancelled;
                answer.cancelled = answer.queued.take();
            }
            EnqueueDecision::Skip { .. }
            | EnqueueDecision::Keep
            | EnqueueDecision::Block
            | EnqueueDecision::Withhold => {}
        }
        answer
    }

    /// A tick that found what was applied last is an event, unless the task is being applied.
    fn note_tick(
        &mut self,
        request: &EnqueueRequest,
        decision: EnqueueDecision,
        applying: Option<RunId>,
    ) {
        if let (Some(id), EnqueueDecision::Skip { .. }, None) = (request.tick, decision, applying)
            && let Some(task) = self.tasks.get_mut(&request.task)
        {
            task.events.push(ModelEvent {
                id,
                run: None,
                success: true,
                error: None,
            });
        }
    }

    fn enqueue_beside(
        &mut self,
        request: &EnqueueRequest,
        requested: bool,
        mut answer: Enqueued,
    ) -> Enqueued {
        let known = self.runs.contains_key(&request.run);
        if known {
            answer.decision = Some(EnqueueDecision::Keep);
        } else {
            answer.decision = Some(EnqueueDecision::Enqueue);
            self.insert_wanted(request, requested);
        }
        let queued = self.runs[&request.run].status == RunStatus::Queued;
        answer.queued = queued.then_some(request.run);
        answer
    }

    fn insert_wanted(&mut self, request: &EnqueueRequest, requested: bool) {
        let hash = request.input.hash;
        self.insert(request.run, request.task.clone(), hash, Duration::ZERO);
        self.store_input(request);
        let run = self.run(Some(request.run));
        (run.kind, run.requested) = (request.kind, requested);
        run.no_retry = requested;
        if requested {
            self.requests.remove(&request.run);
        }
    }

    pub(super) fn store_input(&mut self, request: &EnqueueRequest) {
        let instances = self.inputs.entry(request.input.hash).or_default();
        let guarded = request.guarded.as_ref();
        *instances = instances.take().or_else(|| Some(guarded?.counts.clone()));
    }

    /// Ends withholding a cancelled input once another input is wanted, or the cancelled one in spite of
    /// that.
    pub(super) fn end_withholding(&mut self, request: &EnqueueRequest, decision: EnqueueDecision) {
        let Some(task) = self.tasks.get_mut(&request.task) else {
            return;
        };
        let ends = match decision {
            EnqueueDecision::Enqueue | EnqueueDecision::Supersede | EnqueueDecision::Replace => {
                true
            }
            EnqueueDecision::Skip { .. } => task.withheld != Some(request.input.hash),
            EnqueueDecision::Keep | EnqueueDecision::Block | EnqueueDecision::Withhold => false,
        };
        if ends {
            task.withheld = None;
        }
    }

    /// A newer input has not failed yet.
    pub(super) fn forget_failures(&mut self, task: &TaskName) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.failures = 0;
        }
    }

    pub(super) fn not_tried(&mut self, task: &TaskName) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.tried = None;
        }
    }
}
