//! Wakes waiters for a change: workers that wait for a run, callers that follow runs, the leader election, and the
//! other replicas.
//!
//! Everything here is a hint and never the truth: a woken waiter reads the store. Between replicas hints travel
//! through the store, in batches, and may be lost; a poll makes up for each lost hint.

mod followed_logs;
pub(crate) mod foreign_writes;
pub(crate) mod hints;
pub(crate) mod log_follower;
pub(crate) mod queue_watch;
mod searches;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{RunKind, RunKinds, RunStatus};
use cts_core::{Capabilities, Clock, RunId, TaskName, WorkerId};
use cts_store::{Claim, Hint};
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::notifier::followed_logs::FollowedLogs;
use crate::notifier::searches::Searches;

/// Changes by which a slow follower may lag before it is cut off.
const BACKLOG: usize = 4096;

/// Most changes of the run of one task in a pass; no change may be missed.
const CHANGES_IN_A_PASS: usize = 8;

/// Hints that wait to be published. Further hints are dropped, and the other replicas rely on their polls.
const OUTGOING: usize = 8192;

/// Time between two polls for changes that come with hints, in a process that has the store for itself: there hints are
/// not lost on their way, and writes of other processes are noticed (`foreign_writes`).
const POLL_ALONE: Duration = Duration::from_secs(30);

/// A run has a new status.
#[derive(Debug, Clone)]
pub(crate) struct RunChange {
    pub(crate) run: RunId,
    pub(crate) task: TaskName,
    pub(crate) kind: RunKind,
    pub(crate) status: RunStatus,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Debug)]
pub(crate) struct Notifier {
    /// Workers of equal claims wait together: either all of them can do a run, or none.
    waiting: Mutex<HashMap<Class, Arc<Notify>>>,
    /// Wakes when the next due time may have changed.
    pub(crate) schedule: Notify,
    /// Wakes when the leadership may be free.
    pub(crate) leadership: Notify,
    /// Waited on by the calls of each worker, to end when it drains.
    calls: Mutex<HashMap<WorkerId, Arc<Notify>>>,
    /// Wakes the leader: tasks or requests may have changed.
    pub(crate) tasks: Notify,
    /// Wakes leased runs that wait for an external condition: the queue or the tasks may have changed.
    pub(crate) waits: Notify,
    /// Wakes the workers with leased runs: a run may have been cancelled.
    pub(crate) cancels: Notify,
    /// Wakes the leader: the settings of workers may have changed, or a run may have no settings.
    pub(crate) settings: Notify,
    /// Wakes the leader: a run may be queued that was not.
    pub(crate) open_runs: Notify,
    /// Changes when tokens or configurations may have changed.
    written: watch::Sender<()>,
    pub(crate) logs: FollowedLogs,
    pub(crate) searches: Searches,
    followers: broadcast::Sender<RunChange>,
    /// Told when the brake of the fleet is set, has ended or is released.
    pub(crate) brake: watch::Sender<()>,
    /// Told of effects that wait for consent from now on, or are decided.
    pub(crate) approvals: broadcast::Sender<(RunId, String)>,
    /// Id of this replica; empty without other replicas.
    replica: String,
    outgoing: Option<mpsc::Sender<Hint>>,
    metrics: Option<Arc<Metrics>>,
    clock: Arc<dyn Clock>,
}

/// Properties shared by workers that wait together.
type Class = (Capabilities, RunKinds);

impl Notifier {
    /// Makes a notifier for a replica that has the store for itself. `tasks_of_a_pass` is the number of tasks of its
    /// pass, 0 without a pass.
    pub(crate) fn alone(clock: Arc<dyn Clock>, tasks_of_a_pass: usize) -> Self {
        let backlog = BACKLOG.max(tasks_of_a_pass.saturating_mul(CHANGES_IN_A_PASS));
        Self {
            waiting: Mutex::default(),
            schedule: Notify::new(),
            leadership: Notify::new(),
            calls: Mutex::default(),
            tasks: Notify::new(),
            waits: Notify::new(),
            cancels: Notify::new(),
            settings: Notify::new(),
            open_runs: Notify::new(),
            written: watch::Sender::new(()),
            logs: FollowedLogs::default(),
            searches: Searches::default(),
            followers: broadcast::Sender::new(backlog),
            brake: watch::Sender::new(()),
            approvals: broadcast::Sender::new(BACKLOG),
            replica: String::new(),
            outgoing: None,
            metrics: None,
            clock,
        }
    }

    /// A notifier for one of several replicas; the receiver yields the hints to be published.
    pub(crate) fn shared(clock: Arc<dyn Clock>, replica: String) -> (Self, mpsc::Receiver<Hint>) {
        let (outgoing, receiver) = mpsc::channel(OUTGOING);
        let notifier = Self {
            replica,
            outgoing: Some(outgoing),
            ..Self::alone(clock, 0)
        };
        (notifier, receiver)
    }

    /// Counts the runs that end here.
    pub(crate) fn measured(self, metrics: Arc<Metrics>) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// Waited on by workers with an equal claim.
    pub(crate) fn class(&self, claim: &Claim) -> Arc<Notify> {
        let class = (claim.capabilities.clone(), claim.kinds);
        let mut waiting = self.waiting.lock();
        // A class without waiters is removed.
        waiting.retain(|known, waiter| *known == class || Arc::strong_count(waiter) > 1);
        Arc::clone(waiting.entry(class).or_default())
    }

    /// A run was queued, or the due time of a queued run changed.
    pub(crate) fn queue_changed(&self) {
        self.wake_for_queue();
        self.publish(Hint::Queue);
    }

    fn wake_for_queue(&self) {
        self.wake_one_of_each_class();
        self.schedule.notify_one();
        self.open_runs.notify_one();
        self.waits.notify_waiters();
    }

    fn wake_for_tasks(&self) {
        self.tasks.notify_one();
        // A run that destroys may be queued without settings.
        self.settings.notify_one();
        self.waits.notify_waiters();
        self.cancels.notify_waiters();
    }

    /// Whether no other replica uses the store.
    pub(crate) fn is_alone(&self) -> bool {
        self.outgoing.is_none()
    }

    /// Time between two polls for changes that come with hints; with other replicas, `every`.
    pub(crate) fn poll(&self, every: Duration) -> Duration {
        if self.is_alone() {
            every.max(POLL_ALONE)
        } else {
            every
        }
    }

    /// This process has written a configuration, or another process may have written to the store.
    pub(crate) fn written(&self) {
        self.written.send_replace(());
    }

    /// Another process has written to the store, which has no other replica.
    pub(crate) fn foreign_write(&self) {
        self.written();
        self.wake_for_queue();
        self.wake_for_tasks();
    }

    /// Changes with each call of [`Notifier::written`].
    pub(crate) fn writes(&self) -> watch::Receiver<()> {
        self.written.subscribe()
    }

    /// Wakes one waiting worker of each class, since it may find a run.
    pub(crate) fn wake_one_of_each_class(&self) {
        let waiting = self.waiting.lock();
        for class in waiting.values() {
            class.notify_one();
        }
    }

    /// A run has a new status.
    pub(crate) fn run_changed(
        &self,
        run: RunId,
        task: &TaskName,
        kind: RunKind,
        status: RunStatus,
    ) {
        if let Some(metrics) = &self.metrics {
            metrics.run_changed(kind, status);
        }
        let hint = Hint::Run {
            run,
            task: task.clone(),
            kind,
            status,
            at: self.clock.now(),
        };
        if self.outgoing.is_some() {
            // The hint comes back together with the hints of the other replicas, so that each hint is broadcast once.
            self.publish(hint);
        } else {
            self.apply(hint);
        }
    }

    /// Waited on by a call of this worker, to end when it drains.
    pub(crate) fn call_of(&self, worker: &WorkerId) -> Arc<Notify> {
        let mut calls = self.calls.lock();
        if let Some(drains) = calls.get(worker) {
            return Arc::clone(drains);
        }
        if calls.len() == calls.capacity() {
            calls.retain(|_worker, drains| Arc::strong_count(drains) > 1);
        }
        Arc::clone(calls.entry(worker.clone()).or_default())
    }

    /// A worker drains or was asked to drain.
    pub(crate) fn drains(&self, worker: &WorkerId) {
        self.end_calls_of(worker);
        let worker = worker.clone();
        self.publish(Hint::Drains { worker });
    }

    /// Ends the calls of this worker that wait for a run. A worker whose call ends without a reason calls
    /// again.
    pub(crate) fn end_calls_of(&self, worker: &WorkerId) {
        let calls = self.calls.lock();
        if let Some(drains) = calls.get(worker) {
            drains.notify_waiters();
        }
    }

    /// A task was created, changed or deleted, or a run was requested or cancelled.
    pub(crate) fn tasks_changed(&self) {
        self.wake_for_tasks();
        self.publish(Hint::Tasks);
    }

    /// The brake of the fleet is set, has ended or is released: tasks are examined again.
    pub(crate) fn brake_changed(&self) {
        self.tasks_changed();
        self.queue_changed();
        // As in `run_changed`.
        if self.outgoing.is_some() {
            self.publish(Hint::Brake);
        } else {
            self.apply(Hint::Brake);
        }
    }

    /// An effect waits for consent from now on, or is decided.
    pub(crate) fn approval_changed(&self, run: RunId, effect: &str) {
        let effect = effect.to_owned();
        // As in `run_changed`.
        if self.outgoing.is_some() {
            self.publish(Hint::Approval { run, effect });
        } else {
            self.apply(Hint::Approval { run, effect });
        }
    }

    /// Lines were appended to the log of a run.
    pub(crate) fn log_grew(&self, run: RunId) {
        self.logs.wake(run);
        if self.logs.is_followed_elsewhere(run) {
            self.publish(Hint::Log { run });
        }
    }

    /// Asks the other replicas for hints about the log of this run.
    pub(crate) fn announce_followed(&self, run: RunId) {
        let replica = self.replica.clone();
        self.publish(Hint::LogFollowed { run, replica });
    }

    /// A caller begins to search a log; see [`Searches::begin`].
    pub(crate) fn search_begins(&self, caller: String) -> CancellationToken {
        let at = self.clock.now();
        self.publish(Hint::LogSearch {
            caller: caller.clone(),
            at,
        });
        self.searches.begin(caller, at)
    }

    /// Applies a hint that this process or another process has published.
    pub(crate) fn apply(&self, hint: Hint) {
        match hint {
            Hint::Queue => self.wake_for_queue(),
            Hint::Run {
                run,
                task,
                kind,
                status,
                at,
            } => self.broadcast(RunChange {
                run,
                task,
                kind,
                status,
                at,
            }),
            Hint::Log { run } => self.logs.wake(run),
            Hint::LogFollowed { run, replica } => {
                if replica != self.replica {
                    self.logs.note_elsewhere(run);
                }
            }
            Hint::LogSearch { caller, at } => self.searches.end_before(&caller, at),
            Hint::Drains { worker } => self.end_calls_of(&worker),
            Hint::Tasks => self.wake_for_tasks(),
            Hint::Brake => self.brake.send_replace(()),
            // Sending fails only without a receiver.
            Hint::Approval { run, effect } => drop(self.approvals.send((run, effect))),
            Hint::Leadership => self.leadership.notify_one(),
            Hint::Gap => {
                self.wake_for_queue();
                self.wake_for_tasks();
                self.leadership.notify_one();
            }
        }
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<RunChange> {
        self.followers.subscribe()
    }

    fn broadcast(&self, change: RunChange) {
        self.logs.wake(change.run);
        // Sending fails only without a receiver.
        drop(self.followers.send(change));
    }

    fn publish(&self, hint: Hint) {
        if let Some(outgoing) = &self.outgoing {
            // Full only while the database is away; the polls replace the lost hint.
            drop(outgoing.try_send(hint));
        }
    }
}
