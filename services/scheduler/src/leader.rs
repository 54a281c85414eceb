//! The work of a leader in its term: takes the tasks over, plans and queues runs, takes expired leases back,
//! finishes removals and prunes old runs.

pub(crate) mod election;
mod housekeeping;
pub(crate) mod leader_loop;
pub(crate) mod mode;
pub(crate) mod recent_inputs;
mod removals;
pub(crate) mod settings;
pub(crate) mod term;
pub(crate) mod untaken;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{Chain, Clock, LeaderEpoch, TaskPhase, TaskSpec};
use cts_rpc::Peers;
use cts_store::{
    ExpiredLeases, LeaderError, PendingDeletions, Requeued, Retention, Store, Unchanged,
};
use tokio::time::{Instant, MissedTickBehavior, sleep};

use crate::configuration::OwnConfiguration;
use crate::identities::Identities;
use crate::leader::leader_loop::LeaderLoop;
use crate::leader::mode::Mode;
use crate::leader::recent_inputs::RecentInputs;
use crate::leader::settings::{SettingsInForce, SettingsKeeper};
use crate::leader::term::Term;
use crate::notifier::Notifier;
use crate::options::{NextTick, Workers};
use crate::planner::Planner;

/// Time before a write that the store refused is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Leases taken back by one statement; if more have expired, the next statement follows at once.
const REAPED_AT_ONCE: usize = 16;

/// The dependencies and settings of a leader.
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) workers: Workers,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) own: OwnConfiguration,
    pub(crate) mode: Mode,
    pub(crate) first_pass: Unchanged,
    pub(crate) lease: Duration,
    pub(crate) retention: Retention,
    pub(crate) logs_kept: u64,
    pub(crate) input_timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) next_tick: NextTick,
    /// The first term begins with forgetting all stored tasks.
    pub(crate) reset: Arc<AtomicBool>,
}

/// The tasks of a leader at the beginning.
#[derive(Debug)]
pub(crate) struct TakenOver {
    /// The stored tasks.
    pub(crate) tasks: Vec<TaskSpec>,
    /// Number of the configuration in force.
    number: u64,
    /// Tasks that this configuration declares.
    declared: Vec<TaskSpec>,
    /// Tasks that were not stored or removed yet, because a run of theirs is running.
    unfinished: PendingDeletions,
}

impl Leader {
    /// Works for a term until it is dropped.
    pub(crate) async fn serve(mut self, term: Term) -> Infallible {
        let begun = Instant::now();
        loop {
            let TakenOver {
                number,
                tasks,
                declared,
                unfinished,
            } = self.take_over(&term).await;
            if self.mode == Mode::Daemon {
                tracing::info!(target: "ctrl", tasks = tasks.len(), "executing all tasks, then watching for changes");
            }
            let (keeper, settings) = SettingsKeeper::new(&self.store, &self.notifier, self.workers);
            let leader_loop = self.leader_loop(&term, &tasks, settings);
            // The planner has copied the data that it needs, so thousands of tasks need not stay in memory a
            // second time.
            drop(tasks);
            let removals =
                (unfinished != PendingDeletions::default()).then_some((declared, unfinished));
            tokio::select! {
                never = leader_loop.run() => match never {},
                never = self.reap(&term) => match never {},
                never = keeper.keep(&term) => match never {},
                never = self.prune_loop(&term, begun) => match never {},
                never = self.finish(&term, removals) => match never {},
                () = self.own.changed(number), if self.mode == Mode::Daemon => {}
            }
            // The next round makes a planner for the other tasks. A write that this planner has begun may still
            // take effect.
            if let Some(epoch) = term.epoch() {
                term.end(epoch);
            }
            self.first_pass = Unchanged::Skip;
            tracing::info!(target: "ctrl", "another configuration is in force, its tasks are taken over");
        }
    }

    /// Takes the tasks over, as soon as the store can.
    async fn take_over(&self, term: &Term) -> TakenOver {
        loop {
            let epoch = term.in_force().await;
            match self.take_over_tasks(epoch).await {
                Ok(taken) => return taken,
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    tracing::error!(target: "ctrl", error = %Chain(&error), "cannot store the configured tasks, trying again");
                    term.end(epoch);
                    sleep(RETRY).await;
                }
            }
        }
    }

    fn leader_loop(
        &self,
        term: &Term,
        tasks: &[TaskSpec],
        settings: SettingsInForce,
    ) -> LeaderLoop {
        let at_the_start = match self.mode {
            Mode::Daemon => tasks,
            Mode::OnRequest => &[],
        };
        LeaderLoop {
            planner: Planner::new(at_the_start).with_request_timeout(self.input_timeout),
            term: term.clone(),
            mode: self.mode,
            first_pass: self.first_pass,
            store: Arc::clone(&self.store),
            watchers: self.watchers.clone(),
            identities: Arc::clone(&self.identities),
            settings,
            unfrozen: BTreeMap::new(),
            notifier: Arc::clone(&self.notifier),
            recent_inputs: Arc::clone(&self.recent_inputs),
            clock: Arc::clone(&self.clock),
            next_tick: self.next_tick.clone(),
            input_timeout: self.input_timeout,
            started: Instant::now(),
            lease: self.lease,
            settled: false,
            unsaved: Vec::new(),
            not_before: None,
        }
    }

    /// Brings the configuration in force into the tasks, and gives all that are there then.
    pub(crate) async fn take_over_tasks(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<TakenOver, LeaderError> {
        let mut unfinished = PendingDeletions::default();
        let in_force = if self.reset.load(Ordering::Relaxed) {
            let archive = self.identities.archive_id();
            unfinished = self.store.reset_tasks(epoch, archive).await?;
            let in_force = self.own.adopt(epoch, true).await?;
            // Once in the life of a process, and not with every election.
            self.reset.store(false, Ordering::Relaxed);
            tracing::warn!(target: "ha", reset_id = %archive, "all stored tasks are removed, as the option -reset-storage asks for; `cts archive show` prints what was removed");
            in_force
        } else {
            self.own.in_force(epoch).await?
        };
        let replaced = self.own.bring_in(epoch, &in_force).await?;
        unfinished.postponed = replaced.postponed;
        for name in replaced.deleting {
            if !unfinished.deleting.contains(&name) {
                unfinished.deleting.push(name);
            }
        }
        let declared = in_force.tasks;
        if self.mode == Mode::OnRequest {
            // A pass is about all tasks, so it begins when all are there.
            let term = Term::new(epoch);
            tokio::select! {
                finished = self.finish_removals(epoch, &declared, unfinished) => finished?,
                never = self.reap(&term) => match never {},
                () = term.ended() => return Err(LeaderError::Deposed { epoch }),
            }
            unfinished = PendingDeletions::default();
        }
        let stored = self.store.tasks().await?;
        let ready = stored
            .into_iter()
            .filter(|task| task.phase == TaskPhase::Ready);
        Ok(TakenOver {
            number: in_force.number,
            tasks: ready.map(|task| task.spec).collect(),
            declared,
            unfinished,
        })
    }

    /// Finishes pending removals. Never returns, so that it can be polled together with the other work.
    async fn finish(
        &self,
        term: &Term,
        removals: Option<(Vec<TaskSpec>, PendingDeletions)>,
    ) -> Infallible {
        while let Some((declared, unfinished)) = &removals {
            let epoch = term.in_force().await;
            match self
                .finish_removals(epoch, declared, unfinished.clone())
                .await
            {
                Ok(()) => break,
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    tracing::error!(target: "ctrl", error = %Chain(&error), "cannot remove tasks, trying again");
                    sleep(RETRY).await;
                }
            }
        }
        drop(removals);
        std::future::pending().await
    }

    /// Takes back leases whose holders have fallen silent.
    async fn reap(&self, term: &Term) -> Infallible {
        let every = (self.lease / 30).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let epoch = term.in_force().await;
            let each: [ExpiredLeases; REAPED_AT_ONCE] = std::array::from_fn(|_| ExpiredLeases {
                event: self.identities.event_id(),
                retry_run: self.identities.run_id(),
                jitter: self.identities.jitter(),
            });
            match self.store.reap(epoch, &each).await {
                Ok(requeued) => {
                    if requeued.len() == each.len() {
                        ticks.reset_immediately();
                    }
                    for run in requeued {
                        self.lost(&run);
                    }
                }
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    tracing::error!(error = %Chain(&error), "cannot take back expired leases");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// A run has lost its worker.
    fn lost(&self, run: &Requeued) {
        let (task, id) = (&run.task, run.run);
        match run.status {
            RunStatus::Failed => {
                tracing::error!(task_name = %task, run.id = %id, "a lease expired, and the run has failed: too many of its attempts ended like that or otherwise failed");
            }
            _ => {
                tracing::warn!(task_name = %task, run.id = %id, status = run.status.as_str(), "a lease expired");
            }
        }
        self.notifier.run_changed(id, task, run.kind, run.status);
        self.notifier.queue_changed();
        if run.status.is_end() {
            // A task that was created or deleted may have gone with it.
            self.notifier.tasks_changed();
        }
    }
}
