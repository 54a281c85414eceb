//! The kept states of all tasks, updated for each request.
//!
//! A look reads the facts that have changed, and the open runs in short. Triggers note for each task the transaction of
//! its newest change (`task_versions.changed_in`; in SQLite a number in `task_changes`). All facts are read when the
//! leader has changed. Calls that come together share a look, and a look takes at most a quarter of the time
//! ([`Paced`]).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::TaskPatterns;
use cts_core::{Clock, Incarnation, TaskName};
use cts_proto::task::v1 as proto;
use cts_rpc::Paced;
use cts_store::{ChangedTasks, MemberState, Store, StoreError, WaitingRuns, WorkerState};
use parking_lot::Mutex;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::current::hosts;
use super::kept::{Common, KeptStates, Marks, NotedFacts, Part, Reading, Summary, TaskMark, named};
use super::stuck::stuck_destructions;
use crate::liveness::FORGOTTEN_AFTER;
use crate::unschedulable::{UNSCHEDULABLE_AFTER, reason};

/// Shortest time between two looks at the store.
const PAUSE: Duration = Duration::from_millis(50);

/// All facts are read again within this time, a part with each update, so that changes without a notice are seen, too.
const ROUND: Duration = Duration::from_mins(1);

/// Tasks whose facts are read at once.
const PART: usize = 500;

/// Kept states of all tasks. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Board(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Life of the leadership.
    leadership: Duration,
    looks: Paced<Arc<Looked>, Arc<StoreError>>,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    states: KeptStates,
    /// Position of the store when the states were read; `None` before the first read.
    position: Option<Position>,
}

#[derive(Debug, Clone)]
struct Position {
    changes: String,
    at: Instant,
    /// The last task whose facts were read again without a notice of a change.
    last: Option<TaskName>,
    leader: Option<Incarnation>,
}

/// Result of an update besides the states.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) members: Vec<MemberState>,
    pub(crate) workers: Vec<WorkerState>,
    pub(crate) waiting: Vec<WaitingRuns>,
}

/// States that have changed since an earlier answer.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) version: String,
    /// The version that these states follow; empty if these are all states.
    pub(crate) after: String,
    pub(crate) states: Vec<proto::NamedState>,
    pub(crate) gone: Vec<TaskName>,
}

impl Board {
    /// An empty board. A leader that was silent for `leadership` counts as gone.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        incarnation: Incarnation,
        leadership: Duration,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            leadership,
            looks: Paced::new(PAUSE),
            kept: Mutex::new(Kept {
                states: KeptStates::new(incarnation),
                position: None,
            }),
        }))
    }

    /// Brings the states up to date, unless that was done a moment ago.
    pub(crate) async fn look(&self) -> Result<Arc<Looked>, Arc<StoreError>> {
        let inner = Arc::clone(&self.0);
        let look = || async move { inner.look().await.map(Arc::new).map_err(Arc::new) };
        self.0.looks.get(look).await
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    /// A leader that was silent for so long counts as gone.
    pub(crate) fn leadership(&self) -> Duration {
        self.0.leadership
    }

    /// The states in numbers, with at most this number of problems.
    pub(crate) fn summary(&self, problems: usize) -> Summary {
        self.0.kept.lock().states.summary(problems)
    }

    /// These tasks in numbers, with at most this number of problems.
    pub(crate) fn part(&self, tasks: &TaskPatterns, problems: usize) -> Part {
        self.0.kept.lock().states.part(tasks, problems)
    }

    /// A page of the states of these tasks.
    pub(crate) fn page(
        &self,
        request: &proto::ListTaskPageRequest,
        tasks: &TaskPatterns,
    ) -> proto::ListTaskPageResponse {
        self.0.kept.lock().states.page(request, tasks)
    }

    /// One character for the state of each of these tasks, by name.
    pub(crate) fn grid(&self, tasks: &TaskPatterns) -> String {
        self.0.kept.lock().states.grid(tasks)
    }

    /// The marks of these tasks, unless this number is that of the newest change.
    pub(crate) fn marks(&self, tasks: &TaskPatterns, known: u64) -> Option<Marks> {
        self.0.kept.lock().states.marks(tasks, known)
    }

    /// The mark of a task; `None` if no task has the name.
    pub(crate) fn mark(&self, name: &TaskName) -> Option<TaskMark> {
        self.0.kept.lock().states.mark(name)
    }

    /// Returns the changes since the newest known of these versions, or all states if none is known.
    pub(crate) fn changes(&self, versions: &[String]) -> Changes {
        let kept = self.0.kept.lock();
        let states = &kept.states;
        let known = states.versions();
        let version = known.newest();
        let Some((number, after)) = known.known(versions) else {
            return Changes {
                version,
                after: String::new(),
                states: states
                    .states()
                    .map(|(name, state)| named(name, state))
                    .collect(),
                gone: Vec::new(),
            };
        };
        let changed = known.changed_after(number);
        let changed = changed.filter_map(|name| Some(named(name, states.state(name)?)));
        Changes {
            version,
            after: after.to_owned(),
            states: changed.collect(),
            gone: known.gone_after(number).cloned().collect(),
        }
    }
}

impl Inner {
    async fn look(&self) -> Result<Looked, StoreError> {
        let store = &*self.store;
        let begun = Instant::now();
        let members = store.members(self.leadership * 3).await?;
        let leader = members.iter().find(|member| member.leader);
        let leader = leader.map(|state| state.member.incarnation);
        // After a failover of the database the position may belong to another history; a failover comes with another
        // leader.
        let known = self
            .kept
            .lock()
            .position
            .clone()
            .filter(|known| known.leader == leader && begun.duration_since(known.at) < ROUND);
        let changes = known.as_ref().map(|known| known.changes.as_str());
        let mut changed = store.changed_tasks(changes).await?;
        let present = self.present(&changed, changes.is_none()).await?;
        let mut last = None;
        if let Some(known) = &known {
            let elapsed = begun.duration_since(known.at);
            let again = self.again(known.last.as_ref(), elapsed);
            last = again.last().cloned();
            changed.names.extend(again);
            changed.names.sort();
            changed.names.dedup();
        }
        let position = Position {
            changes: changed.position,
            at: begun,
            last,
            leader,
        };
        let runs = store.shown_runs().await?;
        let facts = self.facts(&changed.names).await?;
        let workers = store.workers(FORGOTTEN_AFTER).await?;
        let waiting = store.waiting_runs(UNSCHEDULABLE_AFTER).await?;
        let stuck = if self.kept.lock().states.are_deleting(&facts) {
            stuck_destructions(store).await?
        } else {
            HashMap::new()
        };
        let reading = Reading {
            changed: changed.names,
            facts,
            present,
            runs,
            common: Common {
                hosts: hosts(&workers),
                no_worker: no_worker(&waiting, &workers),
                stuck,
            },
        };
        // Read after the store: a run that was due at the read must not seem to wait.
        let now = self.clock.now();
        let mut kept = self.kept.lock();
        kept.states.take(reading, now);
        kept.position = Some(position);
        Ok(Looked {
            members,
            workers,
            waiting,
        })
    }

    /// The tasks after this one whose facts are read again, since so much time has passed.
    fn again(&self, last: Option<&TaskName>, elapsed: Duration) -> Vec<TaskName> {
        let states = &self.kept.lock().states;
        let milliseconds = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        let part = states.len().saturating_mul(milliseconds(elapsed)) / milliseconds(ROUND);
        states.following(last, part + 1)
    }

    /// The names of all tasks, unless no task can have been deleted.
    async fn present(
        &self,
        changed: &ChangedTasks,
        are_all: bool,
    ) -> Result<Option<HashSet<TaskName>>, StoreError> {
        if are_all {
            return Ok(Some(changed.names.iter().cloned().collect()));
        }
        if self.kept.lock().states.are(changed.tasks, &changed.names) {
            return Ok(None);
        }
        let all = self.store.changed_tasks(None).await?;
        Ok(Some(all.names.into_iter().collect()))
    }

    /// The facts of these tasks, in parts: other work goes on in between.
    async fn facts(&self, names: &[TaskName]) -> Result<Vec<NotedFacts>, StoreError> {
        let mut facts = Vec::with_capacity(names.len());
        for part in names.chunks(PART) {
            let read = self.store.task_facts(part).await?;
            facts.extend(read.into_iter().map(NotedFacts::from));
            yield_now().await;
        }
        Ok(facts)
    }
}

/// Why no worker takes due runs; `None` if workers do, and if there are several reasons.
fn no_worker(waiting: &[WaitingRuns], workers: &[WorkerState]) -> Option<String> {
    let mut reasons: BTreeSet<String> = waiting
        .iter()
        .filter_map(|runs| reason(runs, workers))
        .collect();
    let first = reasons.pop_first();
    first.filter(|_| reasons.is_empty())
}
