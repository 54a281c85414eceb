//! The work of a leader in its term: takes the tasks over, plans and queues runs, takes expired leases back,
//! finishes removals and prunes old runs.

mod broken_modules;
mod disabled_tasks;
pub(crate) mod election;
mod expired_leases;
pub(crate) mod first_pass;
mod fleet_brake;
mod gone_effects;
mod housekeeping;
pub(crate) mod leader_context;
pub(crate) mod leader_loop;
mod lost_workers;
mod observation;
pub(crate) mod recent_inputs;
mod removals;
pub(crate) mod settings;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cts_core::{Chain, LeaderEpoch, TaskPhase, TaskSpec};
use cts_store::{LeaderError, PendingDeletions, Unchanged};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::configuration::OwnConfiguration;
use crate::leader::broken_modules::BrokenModules;
use crate::leader::disabled_tasks::DisabledTasks;
use crate::leader::fleet_brake::FleetBrake;
use crate::leader::leader_context::LeaderContext;
use crate::leader::leader_loop::LeaderLoop;
use crate::leader::settings::{SettingsInForce, SettingsKeeper};
use crate::mode::Mode;
use crate::planner::{ChangeGroups, Planner};
use crate::term::Term;

/// Time before a write that the store refused is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A member that leads.
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    pub(crate) context: Arc<LeaderContext>,
    pub(crate) own: OwnConfiguration,
    /// Meaning of the first input of each task if it is already applied.
    pub(crate) first_pass: Unchanged,
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
    /// The brake of the fleet, if it is configured.
    brake: Option<FleetBrake>,
    /// Tasks that this configuration declares.
    declared: Vec<TaskSpec>,
    /// Tasks that were not stored or removed yet, because a run of theirs is running.
    unfinished: PendingDeletions,
}

impl Leader {
    /// Works for a term until it is dropped.
    pub(crate) async fn serve(mut self, term: Term) -> Infallible {
        let begun = Instant::now();
        let mut beginning = if term.is_takeover() {
            "first data since the leadership was taken over"
        } else {
            "first data since cts was started"
        };
        loop {
            let TakenOver {
                number,
                tasks,
                brake,
                declared,
                unfinished,
            } = self.take_over(&term).await;
            let is_takeover = term.is_takeover() && self.first_pass == Unchanged::Skip;
            self.context.first_pass.begin(&tasks, is_takeover);
            let (keeper, settings) = SettingsKeeper::new(&self.context);
            let mut leader_loop = self.leader_loop(&term, (&tasks, beginning), settings);
            leader_loop.brake = brake;
            // The planner has copied the data that it needs, so thousands of tasks need not stay in memory a
            // second time.
            drop(tasks);
            let removals =
                (unfinished != PendingDeletions::default()).then_some((declared, unfinished));
            tokio::select! {
                never = leader_loop.run() => match never {},
                never = self.context.first_pass.follow(self.context.notifier.follow()) => match never {},
                never = self.reap(&term) => match never {},
                never = keeper.keep(&term) => match never {},
                never = self.prune_loop(&term, begun) => match never {},
                never = self.withdraw_effects(&term) => match never {},
                never = self.finish(&term, removals) => match never {},
                never = self.count_cluster() => match never {},
                never = self.time_changes() => match never {},
                () = self.own.changed(number, &self.context.notifier), if self.context.mode == Mode::Daemon => {}
            }
            // The next round makes a planner for the other tasks. A write that this planner has begun may still
            // take effect.
            if let Some(epoch) = term.epoch() {
                term.end(epoch);
            }
            self.first_pass = Unchanged::Skip;
            beginning = "first data since the configuration was changed";
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
                    cts_store::log_store_failure!(error, &error, target: "ctrl", error = %Chain(&error), "cannot store the configured tasks, trying again");
                    term.end(epoch);
                    sleep(RETRY).await;
                }
            }
        }
    }

    fn leader_loop(
        &self,
        term: &Term,
        (tasks, beginning): (&[TaskSpec], &'static str),
        settings: SettingsInForce,
    ) -> LeaderLoop {
        let at_the_start = match self.context.mode {
            Mode::Daemon => tasks,
            Mode::OnRequest => &[],
        };
        let mut planner = Planner::new(at_the_start)
            .with_request_timeout(self.context.input_timeout)
            .with_reads();
        let (identities, clock) = (&self.context.identities, &self.context.clock);
        planner.groups = Some(ChangeGroups::new(Arc::clone(identities), Arc::clone(clock)));
        LeaderLoop {
            planner,
            term: term.clone(),
            context: Arc::clone(&self.context),
            first_pass: self.first_pass,
            beginning,
            settings,
            unfrozen: BTreeMap::new(),
            started: Instant::now(),
            settled: false,
            unsaved: Vec::new(),
            not_before: None,
            disabled: DisabledTasks::default(),
            look_at_disabled: None,
            broken: BrokenModules::default(),
            readings: JoinSet::new(),
            brake: None,
        }
    }

    /// Applies the configuration in force to the tasks, and returns all tasks.
    pub(crate) async fn take_over_tasks(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<TakenOver, LeaderError> {
        let mut unfinished = PendingDeletions::default();
        let in_force = if self.reset.load(Ordering::Relaxed) {
            let archive = self.context.identities.archive_id();
            unfinished = self.context.store.reset_tasks(epoch, archive).await?;
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
        if self.context.mode == Mode::OnRequest {
            // A pass covers all tasks, so it begins once all tasks are stored.
            let term = Term::new(epoch);
            tokio::select! {
                finished = self.finish_removals(epoch, &declared, unfinished) => finished?,
                never = self.reap(&term) => match never {},
                () = term.ended() => return Err(LeaderError::Deposed { epoch }),
            }
            unfinished = PendingDeletions::default();
        }
        let stored = self.context.store.tasks().await?;
        let ready = stored
            .into_iter()
            .filter(|task| task.phase == TaskPhase::Ready);
        let tasks: Vec<TaskSpec> = ready.map(|task| task.spec).collect();
        let brake = FleetBrake::take_over(&self.context, epoch, in_force.fleet_max_shrink, &tasks);
        Ok(TakenOver {
            number: in_force.number,
            brake: brake.await?,
            tasks,
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
                    cts_store::log_store_failure!(error, &error, target: "ctrl", error = %Chain(&error), "cannot remove tasks, trying again");
                    sleep(RETRY).await;
                }
            }
        }
        drop(removals);
        std::future::pending().await
    }
}
