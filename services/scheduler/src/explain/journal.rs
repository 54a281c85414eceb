//! The leader's notes on tasks and views, from which any replica answers explanations.
//!
//! Notes are written in the background, seldom and in small parts: notes are for users, and no other work waits for
//! them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::{Chain, TaskName};
use cts_store::{LeaderError, Store};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::known::{
    DecisionKind, KnownDecision, KnownProblem, KnownTask, KnownUnreadable, KnownView, Written,
};
use crate::planner::{Decided, Decision, TaskSnapshot};
use crate::term::Term;

/// Time between two writes.
const PAUSE: Duration = Duration::from_secs(1);

/// Tasks for one write; the remaining tasks follow with the next write.
const PART: usize = 256;

pub(crate) struct Journal {
    term: Term,
    store: Arc<dyn Store>,
    /// The moment that the planner counts from.
    base: DateTime<Utc>,
    /// Hashes of the notes that are written of each task.
    written: HashMap<TaskName, u64>,
    /// Since when the next run of a task waits for a view.
    waiting: HashMap<TaskName, DateTime<Utc>>,
    /// Number of the planner's changes that all is written of.
    complete: Option<u64>,
    next: Instant,
    /// A separate task, because the write may hold resources that the leader's other calls of the store wait for.
    writing: JoinSet<Result<(), LeaderError>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// An empty journal; `base` is the moment that the planner counts from.
    pub(crate) fn new(
        term: Term,
        store: Arc<dyn Store>,
        base: DateTime<Utc>,
        now: Instant,
    ) -> Self {
        Self {
            term,
            store,
            base,
            written: HashMap::new(),
            waiting: HashMap::new(),
            complete: None,
            next: now + PAUSE,
            writing: JoinSet::new(),
        }
    }

    /// Finishes the write in progress, and waits until something may be noted again: for ever if all is written of
    /// this number of changes. Cancel safe.
    pub(crate) async fn write(&mut self, changes: u64) {
        while let Some(written) = self.writing.join_next().await {
            if let Ok(Err(error)) = written {
                tracing::debug!(error = %Chain(&error), "explanations of tasks are not stored");
                // The stored subset is unknown. All explanations are written again.
                self.written.clear();
                self.complete = None;
            }
        }
        if self.complete == Some(changes) {
            std::future::pending::<()>().await;
        }
        sleep_until(self.next).await;
    }

    /// Begins to write new notes. `changes` is the number of the planner's changes; `write` must have returned.
    pub(crate) fn note<'a>(
        &mut self,
        changes: u64,
        task_snapshots: impl Iterator<Item = TaskSnapshot<'a>>,
        now: DateTime<Utc>,
    ) {
        self.next = Instant::now() + PAUSE;
        let Some(epoch) = self.term.epoch() else {
            return;
        };
        if self.complete == Some(changes) {
            return;
        }
        let mut part = Vec::new();
        let mut complete = true;
        let mut present = HashSet::new();
        for snapshot in task_snapshots {
            present.insert(snapshot.task);
            let known = KnownTask {
                waits_since: self.waits_since(&snapshot, now),
                ..self.known(&snapshot)
            };
            let hash = hash_of(&known);
            if self.written.get(snapshot.task) == Some(&hash) {
                continue;
            }
            if part.len() == PART {
                complete = false;
                continue;
            }
            let written = Written { as_of: now, known };
            // Encoding as JSON cannot fail for these types.
            if let Ok(text) = serde_json::to_string(&written) {
                part.push((snapshot.task.clone(), text));
            }
            self.written.insert(snapshot.task.clone(), hash);
        }
        // A task that comes back is a different task.
        self.written.retain(|task, _| present.contains(task));
        self.waiting.retain(|task, _| present.contains(task));
        self.complete = complete.then_some(changes);
        if part.is_empty() {
            return;
        }
        let store = Arc::clone(&self.store);
        self.writing
            .spawn(async move { store.explain(epoch, &part).await });
    }

    fn waits_since(
        &mut self,
        snapshot: &TaskSnapshot<'_>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        if !snapshot.waits_for_views() {
            self.waiting.remove(snapshot.task);
            return None;
        }
        let since = self.waiting.entry(snapshot.task.clone()).or_insert(now);
        Some(*since)
    }

    fn known(&self, snapshot: &TaskSnapshot<'_>) -> KnownTask {
        let views = snapshot.views.iter().map(|view| KnownView {
            name: view.id.as_str().to_owned(),
            complete: view.seen.is_some(),
            revision: view.seen.map_or(0, |(revision, _)| revision),
            changed_at: view.seen.map(|(_, at)| self.moment(at)),
            triggers: view.triggers,
            problem: view.problem.map(|problem| KnownProblem {
                text: problem.text.clone(),
                outage: problem.outage,
                since: problem.since,
                next_try: problem.next_try,
                last_answer: problem.last_answer,
            }),
            unreadable: view.unreadable.as_ref().map(|status| KnownUnreadable {
                keys: status.keys.clone(),
                waits: status.waits,
                left_out: status.left_out.clone(),
            }),
        });
        KnownTask {
            views: views.collect(),
            waits_since: None,
            buffered_until: snapshot.buffered_until.map(|at| self.moment(at)),
            next_tick: snapshot.next_tick,
            decision: snapshot.decided.map(|decided| self.decision(decided)),
        }
    }

    fn decision(&self, Decided { at, decision }: &Decided) -> KnownDecision {
        let (kind, run, text) = match decision {
            Decision::Queued(run) => (DecisionKind::Queued, Some(*run), "a run was queued".into()),
            Decision::Merged(run) => (
                DecisionKind::Merged,
                Some(*run),
                "the run that was queued already has the newest data".into(),
            ),
            Decision::Unchanged => (
                DecisionKind::Unchanged,
                None,
                "the data is what was applied last, so no run was needed".into(),
            ),
            Decision::Held(losses) => {
                (DecisionKind::Held, None, format!("it is blocked: {losses}"))
            }
            Decision::Withheld => (
                DecisionKind::Unchanged,
                None,
                "the run of this data was cancelled, so it waits for newer data or a request"
                    .into(),
            ),
            Decision::Failed(error) => (
                DecisionKind::Failed,
                None,
                format!("the data could not be used: {error}"),
            ),
        };
        KnownDecision {
            kind,
            at: self.moment(*at),
            run,
            text,
        }
    }

    fn moment(&self, since_base: Duration) -> DateTime<Utc> {
        let delta = TimeDelta::from_std(since_base).unwrap_or(TimeDelta::MAX);
        self.base.checked_add_signed(delta).unwrap_or(self.base)
    }
}

fn hash_of(known: &KnownTask) -> u64 {
    let mut hasher = DefaultHasher::new();
    known.hash(&mut hasher);
    hasher.finish()
}
