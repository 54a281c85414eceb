//! A store in memory, as simple as can be, to compare others with.

mod attempts;
mod cancels;
mod cluster;
mod destruction;
mod enqueue;
mod leases;
mod members;
mod requests;
mod service;
mod shrink;
mod task;
mod tasks;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cts_core::runs::{Plan, RunKind, RunStatus};
use cts_core::{Digest, Incarnation, InstanceCounts, RunId, TaskName};

use cts_store::{PLANS_KEPT, stored_kind};

pub use self::cancels::ModelCancelled;
use self::members::{ModelLeader, ModelWorker};
pub use self::task::{ModelEvent, ModelRequest, ModelTask};
pub use self::waits::Lost;

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
    /// Until then its last holder does not get it.
    elsewhere_until: Option<Duration>,
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
    /// Its clock is not at zero: a place in the queue may be before the first call.
    pub fn new() -> Self {
        Self {
            now: Duration::from_secs(1),
            ..Self::default()
        }
    }

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

    pub(super) fn run(&mut self, id: Option<RunId>) -> &mut ModelRun {
        let run = id.and_then(|id| self.runs.get_mut(&id));
        run.expect("the decision is about a queued run")
    }

    pub(super) fn insert(&mut self, id: RunId, task: TaskName, input: Digest, wait: Duration) {
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
            elsewhere_until: None,
            created: self.now,
            log: Vec::new(),
        };
        self.runs.insert(id, run);
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
            task.events
                .retain(|event| event.run.is_none_or(|run| !old.contains(&run)));
        }
        let runs = &self.runs;
        self.inputs
            .retain(|input, _| runs.values().any(|run| run.input == *input));
        old.len() as u64
    }
}
