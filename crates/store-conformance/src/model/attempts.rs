//! The part of the model in which attempts end and leases are lost.

use std::collections::BTreeSet;

use cts_core::runs::{
    AfterAttempt, AttemptContext, AttemptOutcome, ELSEWHERE_FOR, RunKind, RunStatus, after_attempt,
    after_lost_lease, ends_cancelled, failure_text, keep_error,
};
use cts_core::{Destruction, LeaseEpoch, RunId, TaskAfterRun, TaskPhase, WorkerId, task_after_run};

use super::{Model, ModelCompleted, ModelEvent, ModelRun};
use crate::scene::worker_record;
use cts_store::cancel::{CUT_OFF, cancelled_error};
use cts_store::{Completion, ExpiredLeases, LOST_AFTER, Requeued, lost_lease_error};

impl Model {
    pub fn complete(&mut self, completion: &Completion) -> Option<ModelCompleted> {
        let id = completion.run;
        let run = self.live(id, &completion.holder, completion.epoch)?;
        run.log
            .extend(completion.log.iter().map(|line| line.text.clone()));
        if let Some(error) = completion.outcome.error(run.kind) {
            keep_error(&mut run.errors, error);
        }
        if run.ordered.is_some() && ends_cancelled(&completion.outcome, run.kind) {
            keep_error(&mut run.errors, cancelled_error(run.by_force));
        }
        let run = run.clone();
        let mut context = self.context(&run, completion.jitter)?;
        if completion.is_final {
            context = context.without_attempts();
        }
        self.end_attempt(
            run,
            context,
            after_attempt(&completion.outcome, context),
            completion,
        )
    }

    fn context(&self, run: &ModelRun, jitter: f64) -> Option<AttemptContext> {
        let task = self.tasks.get(&run.task)?;
        Some(AttemptContext {
            kind: run.kind,
            phase: task.stored.phase,
            destroying: task.stored.destroy_run.is_some(),
            enabled: task.stored.spec.enabled,
            no_retry: run.no_retry,
            tried: task.tried == Some(run.input),
            attempts: run.attempts,
            newer_waits: self.only(&run.task, RunStatus::Queued).is_some(),
            earlier_failures: task.failures,
            retry_failed: task.stored.spec.file_settings.retry_failed,
            waits: run.waiting_for.is_some(),
            withdrawn: run.withdrawn,
            cancelled: run.ordered.is_some(),
            state_refused: false,
            jitter,
        })
    }

    fn end_attempt(
        &mut self,
        mut run: ModelRun,
        context: AttemptContext,
        after: AfterAttempt,
        completion: &Completion,
    ) -> Option<ModelCompleted> {
        let (now, id) = (self.now, completion.run);
        let task = self.tasks.get_mut(&run.task)?;
        let mut event = ModelEvent {
            id: completion.event,
            run: Some(id),
            success: true,
            error: None,
        };
        let mut retry = None;
        match after {
            AfterAttempt::Succeed => {
                run.status = RunStatus::Succeeded;
                (task.last_applied, task.tried) = (Some(run.input), Some(run.input));
                task.failures = 0;
                let instances = self.inputs.get(&run.input).cloned().flatten();
                task.applied_instances = instances.or_else(|| task.applied_instances.take());
                task.events.push(event.clone());
            }
            AfterAttempt::GiveUp { retry_after } => {
                run.status = RunStatus::Failed;
                if context.ends_ordinary_attempts() {
                    task.tried = Some(run.input);
                }
                if context.withholds() {
                    task.withheld.get_or_insert(run.input);
                }
                task.failures += u32::from(retry_after.is_some());
                let error = failure_text(&run.errors, run.attempts);
                (event.success, event.error) = (false, Some(error));
                task.events.push(event.clone());
                retry = retry_after;
            }
            AfterAttempt::Retry(wait) => (run.status, run.due) = (RunStatus::Queued, now + wait),
            AfterAttempt::Requeue => {
                (run.status, run.due) = (RunStatus::Queued, now);
                run.attempts -= 1;
            }
            AfterAttempt::Suspend => unreachable!("the walk cancels no destructions"),
            AfterAttempt::Cancel => run.status = RunStatus::Cancelled,
            AfterAttempt::End { succeeded: false } => run.status = RunStatus::Failed,
            AfterAttempt::End { succeeded: true } => {
                run.status = RunStatus::Succeeded;
                if let AttemptOutcome::Planned(plan) = &completion.outcome {
                    run.plan = Some(plan.clone());
                }
            }
        }
        let creation = task.creation.map(|(creation, _)| creation);
        let destruction = match (task.stored.destroy_run, run.kind) {
            (None, _) => Destruction::None,
            (Some(_), RunKind::Destroy) => Destruction::Run,
            (Some(destroy_run), _) => Destruction::Waits(destroy_run),
        };
        let task_after = task_after_run(task.stored.phase, creation, destruction, run.status);
        let (name, status, input) = (run.task.clone(), run.status, run.input);
        self.runs.insert(id, run);
        if let Some(wait) = retry {
            self.insert(completion.retry_run, name.clone(), input, wait);
        }
        self.follow(&name, task_after);
        let looked = self.reevaluate(&name);
        let queued = self.runs.values();
        let queued = queued.filter(|run| run.task == name && run.status == RunStatus::Queued);
        let next_due = queued.map(|run| run.due).min();
        let ended_with_event = matches!(after, AfterAttempt::Succeed | AfterAttempt::GiveUp { .. });
        Some(ModelCompleted {
            status,
            event: ended_with_event.then_some(event),
            next_due: next_due.map(|due| due.saturating_sub(now)),
            tasks_changed: looked || task_after != TaskAfterRun::Stays,
        })
    }

    /// Lets a run that was put back wait for another worker, if one fits.
    fn prefer_another(&mut self, id: RunId, holder: &WorkerId) {
        let run = &self.runs[&id];
        let requirement = &self
            .tasks
            .get(&run.task)
            .map(|task| &task.stored.spec.requirement);
        let fits = requirement
            .is_some_and(|needed| worker_record("").capabilities.can_run(needed).is_ok());
        let others = self.workers(LOST_AFTER);
        let another = others.iter().any(|(id, silence, draining, running)| {
            id != holder.as_str()
                && *silence < LOST_AFTER
                && !draining
                && *running < worker_record("").slots
        });
        let run = self.runs.get_mut(&id).expect("it is there");
        if run.status == RunStatus::Queued && fits && another {
            run.elsewhere_until = Some(run.due + ELSEWHERE_FOR);
        }
    }

    /// By id of the run.
    pub fn lose_expired(&mut self, each: &[ExpiredLeases]) -> Vec<Requeued> {
        let lost = self.runs.iter();
        let lost = lost.filter(|(_, run)| run.status == RunStatus::Running);
        let expired = lost.filter(|(_, run)| run.expires <= self.now);
        let mut expired: Vec<_> = expired.map(|(id, run)| (run.expires, *id)).collect();
        expired.sort_unstable();
        let mut taken = Vec::new();
        for ((_, id), ids) in expired.into_iter().zip(each) {
            let mut run = self.runs[&id].clone();
            let completion = Completion {
                run: id,
                holder: WorkerId::new(&run.holder),
                epoch: LeaseEpoch::new(run.epoch),
                outcome: AttemptOutcome::Interrupted,
                is_final: false,
                early_failure: None,
                event: ids.event,
                retry_run: ids.retry_run,
                jitter: ids.jitter,
                log: Vec::new(),
                details: None,
                state: None,
            };
            let renewable = self.was_served_since(run.renewed);
            let context = self.context(&run, ids.jitter).expect("its task is there");
            let after = after_lost_lease(renewable, context);
            if renewable {
                keep_error(&mut run.errors, &lost_lease_error(&run.holder));
            }
            if run.ordered.is_some() {
                keep_error(&mut run.errors, cancelled_error(run.by_force));
            }
            let (task, kind) = (run.task.clone(), run.kind);
            let holder = WorkerId::new(&run.holder);
            let ended = self.end_attempt(run, context, after, &completion);
            self.prefer_another(id, &holder);
            taken.push(Requeued {
                run: id,
                task,
                kind,
                status: ended.expect("its task is there").status,
                holder: Some(holder),
            });
        }
        taken.sort_by_key(|requeued| requeued.run);
        taken
    }

    /// By id of the run.
    pub fn reclaim_all(&mut self) -> Vec<Requeued> {
        let now = self.now;
        let newer: BTreeSet<_> = self
            .tasks
            .keys()
            .filter(|task| self.only(task, RunStatus::Queued).is_some())
            .cloned()
            .collect();
        let tasks = &self.tasks;
        let mut withheld = Vec::new();
        let running = self.runs.iter_mut();
        let running = running.filter(|(_, run)| run.status == RunStatus::Running);
        let taken = running.map(|(id, run)| {
            let task = &tasks[&run.task].stored;
            let deleting = task.phase == TaskPhase::Deleting;
            let pointless = deleting && task.destroy_run != Some(*id);
            let replaced = run.kind.applies() && newer.contains(&run.task);
            let cancelled = run.ordered.take().is_some();
            if cancelled {
                run.errors.push(CUT_OFF.to_owned());
                if run.kind.applies() && task.phase == TaskPhase::Ready && !replaced {
                    withheld.push((run.task.clone(), run.input));
                }
            }
            run.status = if pointless || run.withdrawn || replaced || cancelled {
                RunStatus::Cancelled
            } else {
                RunStatus::Queued
            };
            run.attempts -= 1;
            run.due = now;
            Requeued {
                run: *id,
                task: run.task.clone(),
                kind: run.kind,
                status: run.status,
                holder: None,
            }
        });
        let taken = taken.collect();
        for (name, input) in withheld {
            let task = self.tasks.get_mut(&name).expect("it is there");
            task.withheld.get_or_insert(input);
        }
        self.remove_deleted();
        taken
    }
}
