//! The planner's bookkeeping of one task.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{self, RunKind};
use cts_core::{
    BufferPeriod, Requirement, ShrinkLimit, TaskDefinition, TaskSchedule, TaskSpec, TraceContext,
    Trigger, ViewId,
};

use super::awaited_reads::{AwaitedReads, Origin};
use super::cause::Cause;
use super::cron_state::CronState;
use super::decision::{Decided, Decision};
use super::desired_task::TaskMode;
use super::due::{EnqueueReason, RequestedRun};
use super::kept::Kept;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) definition: Arc<TaskDefinition>,
    pub(super) views: Vec<(ViewId, Trigger)>,
    pub(super) ticks: Option<CronState>,
    pub(super) decided: Option<Decided>,
    pub(super) guard: ShrinkLimit,
    pub(super) engine: Requirement,
    /// The guard holds its newest input back, as far as is known.
    held: bool,
    buffer_period: BufferPeriod,
    schedule: TaskSchedule,
    /// The triggers that the schedule has.
    cause: Option<Cause>,
    /// The changes of its views since an input was frozen, also those that do not trigger it.
    pub(super) causes: Vec<Arc<runs::Cause>>,
    mode: TaskMode,
    /// Each of its views has a snapshot.
    complete: bool,
    /// Consul has refused the missing data. The flag is checked again before a request is given up.
    pub(super) refused: bool,
    /// The task existed at the beginning, and no change of it has been frozen yet.
    first: bool,
    /// Values of its unreadable keys; `None` before the applied input was read from the store.
    pub(super) kept: Option<Kept>,
    /// The task is not frozen before this; set when freezing failed.
    postponed_until: Duration,
    /// The schedule has ticked, and no input was frozen for that yet.
    ticked: bool,
    /// An input was frozen since the planner was compared with the stored tasks.
    frozen_meanwhile: bool,
    requests: Vec<OpenRequest>,
    /// The reads that its triggers need.
    pub(super) reads: AwaitedReads,
    /// The time of the task's item on the agenda.
    pub(super) noted: Option<Duration>,
}

/// A request with its deadline.
#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    requested: RequestedRun,
    deadline: Duration,
}

impl Entry {
    /// Makes the entry of a task that exists when the planner is made.
    pub(super) fn initial(task: &TaskSpec) -> Self {
        let mut schedule = TaskSchedule::new(task.buffer_period);
        if task.definition.dependencies().is_empty() {
            schedule.trigger(Duration::ZERO);
        }
        Self {
            first: true,
            schedule,
            ..Self::added(task, TaskMode::Active)
        }
    }

    /// A task that an earlier leader has taken up: its first input counts as for tasks of the beginning.
    pub(super) fn of_an_earlier_leader(task: &TaskSpec, mode: TaskMode) -> Self {
        Self {
            first: true,
            schedule: TaskSchedule::new(task.buffer_period),
            ..Self::added(task, mode)
        }
    }

    /// A task that comes later.
    pub(super) fn added(task: &TaskSpec, mode: TaskMode) -> Self {
        Self {
            definition: Arc::new(task.definition.clone()),
            views: views_of(&task.definition),
            ticks: CronState::of(&task.definition),
            decided: None,
            guard: task.file_settings.guard,
            engine: task.requirement.clone(),
            held: false,
            buffer_period: task.buffer_period,
            schedule: past_the_first(task.buffer_period),
            cause: None,
            causes: Vec::new(),
            mode,
            complete: false,
            refused: false,
            first: false,
            kept: None,
            postponed_until: Duration::ZERO,
            ticked: false,
            frozen_meanwhile: false,
            requests: Vec::new(),
            reads: AwaitedReads::default(),
            noted: None,
        }
    }

    /// A view that had a snapshot has changed, as `lines` describe. Changes are kept while another view is missing.
    pub(super) fn changed(
        &mut self,
        now: Duration,
        origin: Origin<'_>,
        change: Option<TraceContext>,
        lines: &[Arc<str>],
    ) {
        self.trigger(now);
        self.reads.triggered(origin);
        if let Some(cause) = &mut self.cause {
            if let Some(change) = change {
                cause.note(change);
            }
            cause.describe(lines);
        }
    }

    fn trigger(&mut self, now: Duration) {
        self.schedule.trigger(now);
        self.cause.get_or_insert(Cause::since(now));
    }

    /// Takes the changes that have triggered the task.
    pub(super) fn take_cause(&mut self) -> Option<Cause> {
        self.cause.take()
    }

    /// The schedule ticks, which counts as a change.
    pub(super) fn tick(&mut self, now: Duration) {
        self.ticked = true;
        self.trigger(now);
        self.reads.triggered(Origin::Tick);
    }

    /// A view that was not read before the last input was frozen has different content now; `line` describes the view.
    pub(super) fn compare(&mut self, now: Duration, line: &Arc<str>) {
        self.trigger(now);
        if let Some(cause) = &mut self.cause {
            cause.describe(std::slice::from_ref(line));
        }
    }

    /// Notes whether each view has a snapshot. The first complete input of a task of the beginning triggers.
    pub(super) fn set_complete(&mut self, complete: bool, now: Duration) {
        let began = complete && !self.complete;
        self.complete = complete;
        if began && self.first && !self.views.is_empty() {
            self.trigger(now);
            self.reads.triggered(Origin::Beginning);
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Ends the wait of requests if a task that was never applied has an unreadable key: it has no value to keep.
    pub(super) fn refuse_without_values(&mut self) {
        self.refused |= !self.complete && self.was_never_applied();
    }

    /// Brings the entry in line with the stored task; the views are the caller's.
    pub(super) fn update(&mut self, task: &TaskSpec, mode: TaskMode, now: Duration) {
        if self.buffer_period != task.buffer_period {
            let waits = self.schedule.due_at().is_some();
            self.buffer_period = task.buffer_period;
            self.schedule = if self.first {
                TaskSchedule::new(task.buffer_period)
            } else {
                past_the_first(task.buffer_period)
            };
            if waits {
                self.trigger(now);
            }
        }
        if *self.definition != task.definition {
            if self.definition.condition != task.definition.condition {
                self.ticks = CronState::of(&task.definition);
            }
            self.definition = Arc::new(task.definition.clone());
            if self.frozen_meanwhile {
                // The frozen input belongs to the old definition, and must not be the last input.
                self.trigger(now);
            }
        }
        self.engine.clone_from(&task.requirement);
        if self.guard != task.file_settings.guard {
            self.guard = task.file_settings.guard;
            if self.held {
                self.reevaluate(now);
            }
        }
        self.set_mode(mode);
    }

    /// The module was read again.
    pub(super) fn take_module(&mut self, task: &TaskSpec) {
        self.definition = Arc::new(task.definition.clone());
        self.engine.clone_from(&task.requirement);
    }

    /// Notes the decision on an input.
    pub(super) fn decide(&mut self, decided: Decided) {
        self.held = matches!(decided.decision, Decision::Held(_));
        self.decided = Some(decided);
    }

    /// Notes whether the store reports the task as held. A task that is no longer held was released.
    pub(super) fn note_held(&mut self, held: bool, now: Duration) {
        if std::mem::replace(&mut self.held, held) && !held {
            self.reevaluate(now);
        }
    }

    /// Makes the task due at once: a guard may no longer have a reason to hold back its input, or the guard's
    /// settings have changed. A person waits for it, so the task is not buffered.
    pub(super) fn reevaluate(&mut self, now: Duration) {
        self.schedule = TaskSchedule::new(self.buffer_period);
        self.trigger(now);
    }

    /// Sets the mode, after the entry was compared with the stored task and made equal to it.
    pub(super) fn set_mode(&mut self, mode: TaskMode) {
        if self.mode == TaskMode::Disabled && mode != TaskMode::Disabled {
            // Its views may have been read for a request while it was disabled. Changes from that time run
            // nothing.
            self.schedule = past_the_first(self.buffer_period);
            self.cause = None;
            self.causes = Vec::new();
            self.ticked = false;
            self.reads = AwaitedReads::default();
        }
        self.mode = mode;
        self.frozen_meanwhile = false;
    }

    /// An apply is requested, which stands for the first input: the task may have been enabled with it.
    pub(super) fn leave_first_to_request(&mut self) {
        self.first = false;
        self.schedule = past_the_first(self.buffer_period);
        self.cause = None;
    }

    /// Replaces the requests; requests that are already known keep their deadlines.
    pub(super) fn ask(&mut self, requested: &[RequestedRun], deadline: Duration) {
        let known = std::mem::take(&mut self.requests);
        let requests = requested.iter().map(|&requested| {
            let known = known
                .iter()
                .find(|open| open.requested.run == requested.run);
            known.copied().unwrap_or(OpenRequest {
                requested,
                deadline,
            })
        });
        self.requests = requests.collect();
    }

    /// When its input is to be frozen because of a change; `None` while it is not complete.
    pub(super) fn due_at(&self) -> Option<Duration> {
        if self.mode != TaskMode::Active || !self.complete {
            return None;
        }
        self.schedule
            .due_at()
            .map(|at| at.max(self.postponed_until))
    }

    /// When the first change came that the newest trigger stands for.
    pub(super) fn changed_at(&self) -> Duration {
        self.schedule.since()
    }

    /// Takes the trigger if it is due.
    pub(super) fn take_trigger(&mut self, now: Duration) -> Option<EnqueueReason> {
        if self.due_at().is_none_or(|at| at > now) || !self.schedule.take_due(now) {
            return None;
        }
        self.frozen_meanwhile = true;
        Some(EnqueueReason::Change {
            first: std::mem::take(&mut self.first),
            tick: std::mem::take(&mut self.ticked),
        })
    }

    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// When the next action for this task is due.
    pub(super) fn next(&self) -> Option<Duration> {
        let look = self.ticks.as_ref().and_then(|ticks| ticks.read_at);
        let look = look.filter(|_| self.is_active());
        let reads = self.reads.waits_until();
        let due_at = self.due_at().map(|at| reads.map_or(at, |end| at.max(end)));
        let others = due_at.into_iter().chain(self.next_request());
        others.chain(look).min()
    }

    /// Next tick of the task's schedule.
    pub(super) fn next_tick(&self) -> Option<DateTime<Utc>> {
        let ticks = self.ticks.as_ref().filter(|_| self.is_active());
        ticks.and_then(|ticks| ticks.next)
    }

    /// When the next action for its requests is due.
    fn next_request(&self) -> Option<Duration> {
        let earliest = self.requests.iter().map(|open| open.deadline).min()?;
        let is_ready = |open| self.refused || !self.needs_data(open);
        let ready = self.complete || self.requests.iter().any(is_ready);
        Some(if ready { Duration::ZERO } else { earliest })
    }

    /// Takes the requests that need no data.
    pub(super) fn take_checks_without_data(&mut self) -> Vec<RequestedRun> {
        let requests = std::mem::take(&mut self.requests);
        let (waiting, ready): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(|open| self.needs_data(open));
        self.requests = waiting;
        ready.into_iter().map(|open| open.requested).collect()
    }

    /// Takes all requests, with which the caller freezes the complete input.
    pub(super) fn take_requests(&mut self) -> Vec<RequestedRun> {
        self.requests.drain(..).map(|open| open.requested).collect()
    }

    /// Takes the requests that have waited too long, or all if Consul has refused the missing data. If one of these
    /// requests was to apply, the task is applied once the input is complete, if changes run the task by then.
    pub(super) fn take_overdue(&mut self, now: Duration) -> Vec<RequestedRun> {
        let refused = self.refused;
        let overdue = self
            .requests
            .extract_if(.., |open| refused || open.deadline <= now);
        let overdue: Vec<RequestedRun> = overdue.map(|open| open.requested).collect();
        if overdue
            .iter()
            .any(|requested| requested.kind == RunKind::Apply)
        {
            self.trigger(now);
        }
        overdue
    }

    /// A disabled task is checked without the data of its views: the views are not read while changes do not run the
    /// task.
    fn needs_data(&self, open: &OpenRequest) -> bool {
        open.requested.kind != RunKind::Check || self.mode.is_enabled()
    }

    /// Makes it due again at `until`.
    pub(super) fn postpone(&mut self, now: Duration, until: Duration) {
        self.trigger(now);
        self.postponed_until = until;
    }

    pub(super) fn is_active(&self) -> bool {
        self.is_in(TaskMode::Active)
    }

    pub(super) fn is_in(&self, mode: TaskMode) -> bool {
        self.mode == mode
    }

    /// Whether a change waits to be queued.
    pub(super) fn is_pending(&self) -> bool {
        self.schedule.due_at().is_some()
    }
}

/// A schedule that buffers from its first trigger on: the first input was requested and not triggered.
fn past_the_first(period: BufferPeriod) -> TaskSchedule {
    let mut schedule = TaskSchedule::new(period);
    schedule.trigger(Duration::ZERO);
    schedule.take_due(Duration::ZERO);
    schedule
}

pub(super) fn views_of(definition: &TaskDefinition) -> Vec<(ViewId, Trigger)> {
    let dependencies = definition.dependencies().into_iter();
    let views = dependencies.map(|dependency| (dependency.view.id(), dependency.trigger));
    views.collect()
}
