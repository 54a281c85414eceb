//! A store in memory, as simple as can be, to compare others with.

mod cancels;
mod cluster;
mod destruction;
mod service;
mod tasks;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::DateTime;
use cts_core::runs::{
    AfterAttempt, Asked, AttemptContext, AttemptOutcome, EnqueueDecision, Plan, QueuedApply,
    RunKind, RunStatus, TaskRuns, WantedApply, after_attempt, after_lost_lease, decide_enqueue,
    ends_cancelled, forgets_attempts, keep_error, may_enqueue,
};
use cts_core::state::StateRecord;
use cts_core::{
    Baseline, Blocked, DeliveryAttempt, Destruction, Digest, EventId, Incarnation, InstanceCounts,
    LeaseEpoch, Loss, RunId, TaskAfterRun, TaskName, TaskPhase, WorkerId, task_after_run,
};

pub use self::cancels::ModelCancelled;
use self::cluster::{ModelLeader, ModelWorker};
pub use self::tasks::{ModelRequest, ModelTask};
pub use self::waits::Lost;
use cts_store::cancel::{CUT_OFF, cancelled_error};
use cts_store::{
    Claim, Completion, EnqueueRequest, Enqueued, ExpiredLeases, Lease, PLANS_KEPT, QueueDepth,
    Requeued, Unchanged, lost_lease_error, stored_kind,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelEvent {
    pub id: EventId,
    pub run: RunId,
    pub success: bool,
    pub error: Option<String>,
}

/// One run; times are durations since the beginning of the test.
#[derive(Debug, Clone)]
pub struct ModelRun {
    pub task: TaskName,
    /// Distinguishes the tasks that have had this name.
    incarnation: u64,
    pub kind: RunKind,
    pub no_retry: bool,
    requested: bool,
    pub status: RunStatus,
    pub input: Digest,
    pub attempts: u32,
    /// Oldest first.
    pub errors: Vec<String>,
    pub plan: Option<Plan>,
    pub epoch: u64,
    /// Holder of the last lease, live or not.
    pub holder: String,
    /// The concurrency group of the last lease, if it was for an apply.
    pub group: Option<String>,
    /// Condition outside of cts that the run waited for in the last lease.
    pub waiting_for: Option<String>,
    /// Its task was changed or disabled during the last lease.
    withdrawn: bool,
    /// When its holder was ordered first to stop it.
    pub(super) ordered: Option<Duration>,
    by_force: bool,
    /// The last wait under the last lease after which the run went on.
    resumed_waits: u32,
    /// When the last lease was granted or renewed last.
    renewed: Duration,
    pub expires: Duration,
    pub due: Duration,
    pub created: Duration,
    pub log: Vec<String>,
}

impl ModelRun {
    /// Whether the run takes a slot of its worker.
    pub fn is_at_work(&self) -> bool {
        self.status == RunStatus::Running && self.waiting_for.is_none()
    }
}

#[derive(Debug, Default)]
pub struct Model {
    pub now: Duration,
    pub tasks: BTreeMap<TaskName, ModelTask>,
    /// Tasks there ever were.
    incarnations: u64,
    /// Declarations that the API has deleted.
    deleted: BTreeMap<TaskName, Digest>,
    pub requests: BTreeMap<RunId, ModelRequest>,
    pub runs: BTreeMap<RunId, ModelRun>,
    /// With their instances, where those were said.
    pub inputs: BTreeMap<Digest, Option<InstanceCounts>>,
    leader: ModelLeader,
    /// When each replica was seen last.
    members: BTreeMap<String, (Incarnation, Duration)>,
    workers: BTreeMap<String, ModelWorker>,
}

/// Result of a completion, as far as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelCompleted {
    pub status: RunStatus,
    pub event: Option<ModelEvent>,
    pub next_due: Option<Duration>,
    pub tasks_changed: bool,
}

/// Whether at most one run of its concurrency group may run at a time.
fn one_of_group(kind: RunKind) -> bool {
    matches!(kind, RunKind::Apply | RunKind::Destroy)
}

impl Model {
    /// The run of a task in this status, of which a task has at most one: plans count while they are running.
    pub fn only(&self, task: &TaskName, status: RunStatus) -> Option<RunId> {
        let counts = |run: &ModelRun| run.kind == RunKind::Apply || status == RunStatus::Running;
        let mut found = self
            .runs
            .iter()
            .filter(|(_, run)| run.task == *task && run.status == status && counts(run));
        let first = found.next().map(|(id, _)| *id);
        assert_eq!(
            found.next().map(|(id, _)| *id),
            None,
            "{task} has two {status:?}"
        );
        first
    }

    pub fn enqueue(&mut self, request: &EnqueueRequest) -> Enqueued {
        let mut answer = Enqueued {
            task: request.task.clone(),
            decision: None,
            queued: None,
            cancelled: None,
            losses: Vec::new(),
        };
        let asked = self.asked(request);
        let may = |task: &&ModelTask| {
            let stored = &task.stored;
            may_enqueue(stored.phase, stored.spec.enabled, request.kind, asked)
        };
        let Some(task) = self.tasks.get(&request.task).filter(may) else {
            return answer;
        };
        let requested = asked == Asked::Open;
        if !request.kind.applies() {
            return self.enqueue_beside(request, requested, answer);
        }
        let queued = self.only(&request.task, RunStatus::Queued);
        let running = self.only(&request.task, RunStatus::Running);
        let applying = running.filter(|id| self.runs[id].kind == RunKind::Apply);
        let hash = request.input.hash;
        let runs = TaskRuns {
            queued: queued.map(|id| QueuedApply {
                input: self.runs[&id].input,
                no_retry: self.runs[&id].no_retry,
            }),
            running: applying.map(|id| self.runs[&id].input),
            withdrawn: applying.is_some_and(|id| self.runs[&id].withdrawn),
            last_applied: task.last_applied,
            withheld: task.withheld,
        };
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
                loses_much: !answer.losses.is_empty(),
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
        answer.decision = Some(decision);
        answer.queued = queued;
        match decision {
            EnqueueDecision::Enqueue | EnqueueDecision::Supersede => {
                if decision == EnqueueDecision::Supersede {
                    self.run(queued).status = RunStatus::Cancelled;
                    answer.cancelled = queued;
                }
                self.insert_wanted(request, requested);
                let waits = applying.filter(|id| self.runs[id].waiting_for.is_some());
                let place = queued
                    .or(waits)
                    .map_or(self.now, |taken| self.runs[&taken].due);
                let due = place.min(self.now);
                self.run(Some(request.run)).due = due;
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

    fn store_input(&mut self, request: &EnqueueRequest) {
        let instances = self.inputs.entry(request.input.hash).or_default();
        let guarded = request.guarded.as_ref();
        *instances = instances.take().or_else(|| Some(guarded?.counts.clone()));
    }

    fn guard(&mut self, request: &EnqueueRequest, decision: EnqueueDecision, losses: &[Loss]) {
        let baseline = self
            .tasks
            .get(&request.task)
            .map(|task| self.baseline(task));
        let baseline = baseline.unwrap_or_default();
        let Some(task) = self.tasks.get_mut(&request.task) else {
            return;
        };
        match &request.guarded {
            None => {
                (task.held, task.applied_instances, task.released) = (None, None, None);
            }
            Some(guarded) if decision == EnqueueDecision::Block => {
                task.held = Some((losses.to_vec(), guarded.counts.clone()));
            }
            Some(guarded) => {
                task.held = None;
                let released = baseline.let_through(guarded.guard, &guarded.counts);
                task.released = released;
            }
        }
    }

    /// Baseline that an input of this task is compared with.
    fn baseline(&self, task: &ModelTask) -> Baseline {
        let running = self.only(task.stored.spec.name(), RunStatus::Running);
        let running = running.map(|id| &self.runs[&id]);
        let running = running.filter(|run| run.kind == RunKind::Apply);
        Baseline {
            applied: task.applied_instances.clone(),
            running: running.and_then(|run| self.inputs.get(&run.input)?.clone()),
            released: task.released.clone(),
        }
    }

    /// An attempt has ended.
    fn look_again(&mut self, name: &TaskName) -> bool {
        let Some(task) = self.tasks.get(name) else {
            return false;
        };
        let guard = task.stored.spec.file_settings.guard;
        let mut baseline = self.baseline(task);
        baseline.released = baseline.settled(guard);
        let held = task.held.clone().and_then(|(_, counts)| {
            let losses = baseline.losses(guard, &counts);
            (!losses.is_empty()).then_some((losses, counts))
        });
        let looked = held != task.held || baseline.released != task.released;
        if let Some(task) = self.tasks.get_mut(name) {
            (task.held, task.released) = (held, baseline.released);
        }
        looked
    }

    pub fn release(&mut self, name: &TaskName) -> Option<bool> {
        let task = self.tasks.get(name).filter(|task| task.is_visible())?;
        let Some((losses, counts)) = task.held.clone() else {
            return Some(false);
        };
        let hold = Blocked {
            since: DateTime::default(),
            losses,
            counts,
        };
        let baseline = self.baseline(task).release(&hold);
        let task = self.tasks.get_mut(name)?;
        (task.applied_instances, task.released) = (baseline.applied, baseline.released);
        task.held = None;
        Some(true)
    }

    /// Ends withholding a cancelled input once another input is wanted, or the cancelled one in spite of
    /// that.
    fn end_withholding(&mut self, request: &EnqueueRequest, decision: EnqueueDecision) {
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
    fn forget_failures(&mut self, task: &TaskName) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.failures = 0;
        }
    }

    fn not_tried(&mut self, task: &TaskName) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.tried = None;
        }
    }

    fn run(&mut self, id: Option<RunId>) -> &mut ModelRun {
        let run = id.and_then(|id| self.runs.get_mut(&id));
        run.expect("the decision is about a queued run")
    }

    fn insert(&mut self, id: RunId, task: TaskName, input: Digest, wait: Duration) {
        let run = ModelRun {
            incarnation: self.tasks[&task].incarnation,
            task,
            kind: RunKind::Apply,
            no_retry: false,
            requested: false,
            status: RunStatus::Queued,
            input,
            attempts: 0,
            errors: Vec::new(),
            plan: None,
            epoch: 0,
            holder: String::new(),
            group: None,
            waiting_for: None,
            withdrawn: false,
            ordered: None,
            by_force: false,
            resumed_waits: 0,
            renewed: Duration::ZERO,
            expires: Duration::ZERO,
            due: self.now + wait,
            created: self.now,
            log: Vec::new(),
        };
        self.runs.insert(id, run);
    }

    /// Due times and ids of runs that can be leased now or later.
    fn waiting(&self) -> impl Iterator<Item = (Duration, RunId)> {
        let free = self.runs.iter().filter(|(_, run)| {
            run.status == RunStatus::Queued
                && self.may_run(run)
                && self.only(&run.task, RunStatus::Running).is_none()
                && !self.waits_for_group(run)
        });
        free.map(|(id, run)| (run.due, *id))
    }

    /// Whether another apply of its concurrency group is running.
    fn waits_for_group(&self, run: &ModelRun) -> bool {
        let group = &self.tasks[&run.task]
            .stored
            .spec
            .file_settings
            .concurrency_group;
        let taken = |other: &ModelRun| {
            other.status == RunStatus::Running && other.group.is_some() && other.group == *group
        };
        one_of_group(run.kind) && self.runs.values().any(taken)
    }

    fn may_run(&self, run: &ModelRun) -> bool {
        let enabled = self.tasks[&run.task].stored.spec.enabled;
        !run.kind.applies() || run.requested || enabled
    }

    pub fn next_due(&self) -> Option<Duration> {
        let first = self.waiting().min();
        first.map(|(due, _)| due.saturating_sub(self.now))
    }

    pub fn queue_depth(&self) -> QueueDepth {
        let queued = self
            .runs
            .values()
            .filter(|run| run.status == RunStatus::Queued);
        let ready = || self.waiting().filter(|(due, _)| *due <= self.now);
        QueueDepth {
            queued: queued.filter(|run| self.may_run(run)).count() as u64,
            ready: ready().count() as u64,
            running: self.runs.values().filter(|run| run.is_at_work()).count() as u64,
            oldest_ready: ready().map(|(due, _)| self.now.saturating_sub(due)).max(),
        }
    }

    pub fn acquire(&mut self, claim: &Claim) -> Option<Lease> {
        if self.drains(&claim.worker) {
            return None;
        }
        let fits = |id: &RunId| {
            let run = &self.runs[id];
            let spec = &self.tasks[&run.task].stored.spec;
            let claimed = claim.kinds.has(run.kind) && (run.no_retry || !claim.only_requested);
            claimed && claim.capabilities.can_run(&spec.requirement).is_ok()
        };
        let due = self.waiting().filter(|(due, _)| *due <= self.now);
        let (_, id) = due.filter(|(_, id)| fits(id)).min()?;
        let before = self.tasks[&self.runs[&id].task].last_attempt;
        let before = before.and_then(|attempt| self.runs.get(&attempt.run));
        let before_succeeded = before.is_none_or(|run| run.status == RunStatus::Succeeded);
        let run = self.runs.get_mut(&id)?;
        run.status = RunStatus::Running;
        run.epoch += 1;
        run.attempts += 1;
        (run.expires, run.renewed) = (self.now + claim.time_to_live, self.now);
        claim.worker.as_str().clone_into(&mut run.holder);
        (run.waiting_for, run.withdrawn, run.resumed_waits) = (None, false, 0);
        let group = &self
            .tasks
            .get(&run.task)?
            .stored
            .spec
            .file_settings
            .concurrency_group;
        run.group = group.clone().filter(|_| one_of_group(run.kind));
        let mut delivery = None;
        if run.kind == RunKind::Apply {
            let task = self.tasks.get_mut(&run.task)?;
            task.last_applied = None;
            let attempt =
                DeliveryAttempt::next(task.last_attempt.as_ref(), id, run.input, before_succeeded);
            task.last_attempt = Some(attempt);
            delivery = Some(attempt.delivery);
        }
        Some(Lease {
            run: id,
            task: run.task.clone(),
            kind: run.kind,
            holder: claim.worker.clone(),
            epoch: LeaseEpoch::new(run.epoch),
            input: run.input,
            attempt: run.attempts,
            timeouts: self.tasks[&run.task].stored.spec.file_settings.timeouts,
            state: StateRecord::default(),
            delivery,
        })
    }

    pub fn live(
        &mut self,
        id: RunId,
        holder: &WorkerId,
        epoch: LeaseEpoch,
    ) -> Option<&mut ModelRun> {
        let run = self.runs.get_mut(&id)?;
        let own = run.holder == holder.as_str() && run.epoch == epoch.get();
        (run.status == RunStatus::Running && own).then_some(run)
    }

    pub fn renew(&mut self, lease: &Lease, time_to_live: Duration) -> bool {
        let now = self.now;
        let Some(run) = self.live(lease.run, &lease.holder, lease.epoch) else {
            return false;
        };
        (run.expires, run.renewed) = (run.expires.max(now + time_to_live), now);
        true
    }

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
        let context = self.context(&run, completion.jitter)?;
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
            run: id,
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
                let newest_first: Vec<_> = run.errors.iter().rev().cloned().collect();
                (event.success, event.error) = (false, Some(newest_first.join("\n\n")));
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
        let looked = self.look_again(&name);
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
            let ended = self.end_attempt(run, context, after, &completion);
            taken.push(Requeued {
                run: id,
                task,
                kind,
                status: ended.expect("its task is there").status,
            });
        }
        taken.sort_by_key(|requeued| requeued.run);
        taken
    }

    /// By id of the run.
    pub fn take_back_all(&mut self) -> Vec<Requeued> {
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

    pub fn prune(&mut self, keep: usize) -> u64 {
        self.prune_drafts();
        let mut sorts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, run) in &self.runs {
            if run.status.is_end() {
                let task = self.tasks.get(&run.task);
                let there = task.is_some_and(|task| task.incarnation == run.incarnation);
                let cancelled = run.status == RunStatus::Cancelled;
                let sort = (run.task.clone(), there, stored_kind(run.kind).0, cancelled);
                sorts.entry(sort).or_default().push((run.created, *id));
            }
        }
        let mut old = BTreeSet::new();
        for ((_, _, kind, _), mut ended) in sorts {
            let keep = if kind == RunKind::Apply.as_str() {
                keep
            } else {
                keep.min(PLANS_KEPT as usize)
            };
            ended.sort_unstable();
            let beyond = ended.len().saturating_sub(keep);
            old.extend(ended[..beyond].iter().map(|(_, id)| *id));
        }
        self.runs.retain(|id, _| !old.contains(id));
        for task in self.tasks.values_mut() {
            task.events.retain(|event| !old.contains(&event.run));
        }
        let runs = &self.runs;
        self.inputs
            .retain(|input, _| runs.values().any(|run| run.input == *input));
        old.len() as u64
    }
}
