//! The loop that turns changes and requests into queued runs: one planner, one writer.

mod applied;
mod brake;
mod enqueue;
mod enqueued;
mod modules;
mod poll_schedule;
mod readiness;
mod refresh;
mod seen;
mod settle;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use cts_core::settings::SettingsScope;
use cts_core::{RunId, TaskName, TaskSpec, ViewId};
use cts_store::{EnqueueRequest, Unchanged};
use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::poll_schedule::PollSchedule;
use self::seen::Seen;
use crate::explain::Journal;
use crate::leader::broken_modules::BrokenModules;
use crate::leader::disabled_tasks::DisabledTasks;
use crate::leader::fleet_brake::FleetBrake;
use crate::leader::leader_context::LeaderContext;
use crate::leader::settings::SettingsInForce;
use crate::mode::Mode;
use crate::moment::at;
use crate::planner::{DueTask, Planner, ViewProblem};
use crate::term::Term;
use crate::watch::{WatchError, WatchEvent, WatchSet};

/// Time before a failed write is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Most deltas that are applied at once, before their tasks are queued.
const AT_ONCE: usize = 1024;

#[derive(Debug)]
pub(crate) struct LeaderLoop {
    pub(crate) context: Arc<LeaderContext>,
    pub(crate) planner: Planner,
    pub(crate) term: Term,
    /// Meaning of the first input of each task if it is already applied.
    pub(crate) first_pass: Unchanged,
    /// The beginning of the leader, as the cause of the first runs.
    pub(crate) beginning: &'static str,
    pub(crate) settings: SettingsInForce,
    /// Due tasks whose settings are not known yet, or whose module is being read: the newest change and each request.
    pub(crate) unfrozen: BTreeMap<(TaskName, Option<RunId>), DueTask>,
    pub(crate) started: Instant,
    /// Whether it is decided which inputs count as applied.
    pub(crate) settled: bool,
    /// Requests that are to be queued. If the outcome of a write is unknown, the runs may be queued already; repeating
    /// them with the same run ids then changes nothing.
    pub(crate) unsaved: Vec<EnqueueRequest>,
    /// Set after a failed write: no write before this moment.
    pub(crate) not_before: Option<Instant>,
    pub(crate) disabled: DisabledTasks,
    /// When to look at disabled tasks next.
    pub(crate) look_at_disabled: Option<Instant>,
    pub(crate) broken: BrokenModules,
    /// Modules that are being read again.
    pub(crate) readings: JoinSet<TaskSpec>,
    /// The brake of the fleet, if it is configured.
    pub(crate) brake: Option<FleetBrake>,
}

impl LeaderLoop {
    /// Works until it is dropped, when the term is over.
    pub(crate) async fn run(mut self) -> Infallible {
        let explains = self.context.mode == Mode::Daemon;
        let mut watches = WatchSet::new(self.context.watchers.healthy(), self.planner.views());
        let mut poll_schedule = PollSchedule::begin(
            Instant::now(),
            self.context.notifier.poll(poll_schedule::LONGEST_POLL),
        );
        let mut seen = Seen::default();
        let base = self.context.clock.now() - self.started.elapsed();
        let mut journal = Journal::new(
            self.term.clone(),
            Arc::clone(&self.context.store),
            base,
            Instant::now(),
        );
        let context = Arc::clone(&self.context);
        let mut epochs = self.term.follow();
        let mut checks = context.check_pass.follow();
        loop {
            let next = self.next_writing();
            let may_write = self.term.epoch().is_some();
            tokio::select! {
                event = watches.next() => {
                    self.apply_event(event, &mut watches);
                    // One transaction covers all events that have arrived, so that a slow database does not delay the
                    // planner.
                    for _ in 1..AT_ONCE {
                        let Some(event) = watches.next().now_or_never() else { break };
                        self.apply_event(event, &mut watches);
                    }
                }
                () = at(next), if may_write => {}
                Ok(()) = epochs.changed() => {}
                changed = self.settings.changed() => {
                    self.disabled.settings_changed();
                    self.look_at_disabled = Some(Instant::now());
                    let now = self.started.elapsed();
                    self.planner.settings_changed(now, |definition| changed.contains(&SettingsScope::of(definition)));
                }
                () = context.notifier.tasks.notified() => {
                    poll_schedule.hint(Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(poll_schedule.next()), if may_write => {
                    self.refresh(&mut watches, &mut poll_schedule, &mut seen).await;
                }
                () = at(self.look_at_disabled), if may_write => {
                    self.make_ready().await;
                    continue;
                }
                () = at(self.broken.next()), if may_write => {
                    self.read_modules();
                    continue;
                }
                Some(Ok(read)) = self.readings.join_next() => {
                    self.note_module(read).await;
                }
                Ok(()) = checks.changed() => {
                    self.look_at_disabled = Some(Instant::now());
                    continue;
                }
                () = journal.write(self.planner.changes()), if explains => {
                    let now = self.context.clock.now();
                    journal.note(self.planner.changes(), self.planner.task_snapshots(), now);
                    continue;
                }
            }
            self.enqueue_due().await;
            for request in self.planner.take_reads() {
                watches.read(request);
            }
        }
    }

    /// When the next write is due.
    fn next_writing(&self) -> Option<Instant> {
        let is_idle =
            self.settled && self.unsaved.is_empty() && !self.planner.lacks_applied_input();
        let due = if is_idle {
            self.started.checked_add(self.planner.next_due()?)
        } else {
            Some(self.started)
        };
        due.max(self.not_before)
    }

    fn apply_event(&mut self, event: WatchEvent, watches: &mut WatchSet) {
        match event {
            WatchEvent::Delta(view, delta) => {
                if let Err(error) = self.planner.observe(&view, delta, self.started.elapsed()) {
                    tracing::debug!(view.id = %view, error = %error, "a delta does not fit");
                    watches.again(&view);
                }
            }
            WatchEvent::Read(view, mark) => {
                self.planner.read(&view, mark, self.started.elapsed());
            }
            WatchEvent::NotReadable(views) => self.planner.not_readable(&views),
            WatchEvent::Failure(views, error) => self.note_problem(&views, &error),
        }
    }

    fn note_problem(&mut self, views: &[ViewId], error: &WatchError) {
        let now = self.context.clock.now();
        // Durations that a watcher reports may exceed the range of a timestamp.
        let delta = |duration: Duration| TimeDelta::from_std(duration).ok();
        let before = |age: Duration| now.checked_sub_signed(delta(age)?);
        let problem = ViewProblem {
            text: error.text.clone(),
            refused: error.refused,
            outage: error.outage,
            since: before(error.lasts).unwrap_or(now),
            next_try: error
                .retry_after
                .and_then(|wait| now.checked_add_signed(delta(wait)?)),
            last_answer: error.since_answer.and_then(before),
        };
        let (mut waiting, mut example) = (0, None);
        for view in views {
            if let Some(tasks) = self.planner.note_problem(view, problem.clone()) {
                waiting += tasks;
                example = example.or(Some(view));
            }
        }
        if let Some(view) = example {
            tracing::warn!(view.id = %view, tasks = waiting, error = problem.text, "tasks wait for data that cannot be read");
        }
    }
}
