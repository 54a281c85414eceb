//! An explanation put together from the leader's notes and from the store.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use cts_core::callers::TaskPatterns;
use cts_core::runs::{Occasion, RunKind, RunStatus, brief_newest_error};
use cts_core::settings::SettingsScope;
use cts_core::{
    Blocked, Clock, Requirement, TaskName, TaskPhase, UnschedulableReason, excerpt, losses_text,
    unschedulable_reason,
};
use cts_proto::run::v1::Run;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::ObstacleKind;
use cts_rpc::convert;
use cts_store::{Approval, RunFilter, RunRecord, ShownRun, Store, StoreError, StoredTask};

use super::approval::{approval_text, awaits_consent};
use super::brake::{brake_text, is_braked};
use super::cause::cause_of;
use super::current::{self, hosts};
use super::group::{has_open_remote, taken_group};
use super::known::{DecisionKind, KnownDecision, KnownTask, Written};
use super::stuck::stuck_destructions;
use super::views::{told_problems, unreadable_text, view};
use crate::liveness::FORGOTTEN_AFTER;
use crate::wire::run_to_wire;

/// Characters of a run's error that are quoted.
const ERROR_SHOWN: usize = 200;

/// Number of the newest runs that are searched for the queued, the running and the last run.
const RUNS: u32 = 30;

/// Everything that is looked at.
struct Facts<'a> {
    task: StoredTask,
    written: Option<Written>,
    current: Option<RunRecord>,
    last: Option<RunRecord>,
    /// Why no worker can take its current run now.
    no_worker: Option<UnschedulableReason>,
    held: Option<Blocked>,
    /// Occasion of a run for which no apply was leased yet.
    owes_run: Option<Occasion>,
    /// Why its destruction cannot go on before an operator does something.
    stuck: Option<String>,
    /// Error of its newest check.
    check_error: Option<String>,
    /// Why its last run was refused, if its state was the reason.
    state_conflict: Option<String>,
    /// The effect of its current run, if that waits for consent.
    approval: Option<Approval>,
    /// The run that occupies the concurrency group of the task.
    group_holder: Option<RunRecord>,
    /// Causes of the current and the last run.
    causes: [Vec<String>; 2],
    /// Its state now.
    state: Option<proto::CurrentState>,
    led: bool,
    now: DateTime<Utc>,
    /// Other tasks that texts may name.
    visible: &'a TaskPatterns,
}

/// Explains a task; `None` if the task does not exist. A leader that was silent for `leadership` counts as
/// gone. Texts name only other tasks that are `visible`. For the causes of runs their inputs are compared.
pub(crate) async fn explain(
    store: &dyn Store,
    name: &TaskName,
    leadership: Duration,
    clock: &dyn Clock,
    (visible, with_causes): (&TaskPatterns, bool),
) -> Result<Option<proto::Explanation>, StoreError> {
    let Some(task) = store.task(name).await? else {
        return Ok(None);
    };
    let written = store.explanation(name).await?;
    // Notes of other versions may be unreadable and are ignored then.
    let written: Option<Written> = written.and_then(|text| serde_json::from_str(&text).ok());
    let filter = RunFilter {
        task: Some(name.clone()),
        limit: RUNS,
        ..RunFilter::default()
    };
    let (current, ended): (Vec<_>, Vec<_>) = store
        .runs(&filter)
        .await?
        .into_iter()
        .partition(|run| !run.status.is_end());
    let running = |run: &RunRecord| run.status == RunStatus::Running;
    let current = current.into_iter().max_by_key(running);
    let last = ended.into_iter().max_by_key(|run| run.finished_at);
    let explained = |run| Option::filter(run, |_| with_causes);
    let causes = [
        cause_of(store, explained(current.as_ref())).await?,
        cause_of(store, explained(last.as_ref())).await?,
    ];
    let members = store.members(leadership).await?;
    let state = store.task_state(name).await?;
    let holder = match &task.spec.file_settings.concurrency_group {
        Some(group) => store.holder_of_group(group, name).await?,
        None => None,
    };
    let group_holder = match holder {
        Some(run) => store.run(run).await?,
        None => None,
    };
    let scope = SettingsScope::of(&task.spec.definition);
    let settings = store.settings().await?;
    let mut in_force = settings.iter().filter(|known| known.in_force);
    let in_force = in_force.find(|known| known.scope == scope);
    let in_force = in_force.map(|known| known.number);
    let stuck = stuck_destructions(store).await?.remove(name);
    let workers = store.workers(FORGOTTEN_AFTER).await?;
    let (requirement, settings) = if current.as_ref().is_some_and(RunRecord::awaits_ending) {
        (&Requirement::of_remote_driver(), None)
    } else {
        (&task.spec.requirement, in_force)
    };
    let candidates = workers.iter().map(|worker| worker.candidate(settings));
    let no_worker = unschedulable_reason(candidates, requirement);
    let no_worker_text = no_worker.as_ref().map(ToString::to_string);
    // Read after the store: a run that was due at the read must not seem to wait.
    let now = clock.now();
    let shown_run = current.as_ref().map(ShownRun::from);
    let approval = match shown_run.as_ref().filter(|run| awaits_consent(run)) {
        Some(run) => store.approval_of(run.id, None).await?,
        None => None,
    };
    let shown = state.as_ref().map(|state| {
        let facts = current::Facts {
            state,
            deleting: task.phase == TaskPhase::Deleting,
            stuck: stuck.as_deref(),
            run: shown_run.as_ref(),
            known: written.as_ref().map(|written| &written.known),
            no_worker: no_worker_text.as_deref(),
        };
        facts.current(&hosts(&workers), now)
    });
    let facts = Facts {
        causes,
        state: shown,
        approval,
        group_holder,
        check_error: state.as_ref().and_then(|state| state.check_error.clone()),
        state_conflict: state.as_ref().and_then(current::state_conflict),
        stuck,
        owes_run: state.as_ref().and_then(|state| state.owes_run),
        held: state.and_then(|state| state.held),
        written,
        current,
        last,
        no_worker,
        led: members.iter().any(|member| member.leader),
        task,
        now,
        visible,
    };
    Ok(Some(facts.build()))
}

fn with_cause(run: RunRecord, cause: Vec<String>) -> Run {
    Run {
        cause,
        ..run_to_wire(run)
    }
}

/// Returns the reason why a queued run of a task waits, in one line; `None` if the run does not wait. The text names
/// only other tasks that are `visible`.
pub(crate) async fn waiting_for(
    store: &dyn Store,
    name: &TaskName,
    leadership: Duration,
    clock: &dyn Clock,
    visible: &TaskPatterns,
) -> Result<Option<String>, StoreError> {
    let explanation = explain(store, name, leadership, clock, (visible, false)).await?;
    let obstacles = explanation.map_or_else(Vec::new, |explanation| explanation.obstacles);
    let texts: Vec<String> = obstacles
        .into_iter()
        .map(|obstacle| obstacle.text)
        .collect();
    Ok((!texts.is_empty()).then(|| texts.join("; ")))
}

impl Facts<'_> {
    fn build(self) -> proto::Explanation {
        let obstacles = self.obstacles();
        let Self {
            task,
            written,
            current,
            last,
            causes: [cause_of_current, cause_of_last],
            state,
            now,
            ..
        } = self;
        let as_of = written.as_ref().map(|written| written.as_of);
        let (views, buffered_until, next_tick, decision) =
            match written.map(|written| written.known) {
                Some(KnownTask {
                    views,
                    buffered_until,
                    next_tick,
                    decision,
                    waits_since: _,
                }) => (views, buffered_until, next_tick, decision),
                None => (Vec::new(), None, None, None),
            };
        proto::Explanation {
            task_name: task.spec.name().to_string(),
            revision: task.revision,
            enabled: task.spec.enabled,
            phase: convert::phase_to_wire(task.phase).into(),
            as_of: as_of.map(convert::timestamp_to_wire),
            views: views
                .into_iter()
                .map(|known| proto::ObservedView {
                    // Notes from before the task was disabled still say that the view triggers.
                    triggers: known.triggers && task.spec.enabled,
                    ..view(known, now)
                })
                .collect(),
            buffered_until: buffered_until.map(convert::timestamp_to_wire),
            // A past tick was stored before it was due.
            next_tick: next_tick
                .filter(|at| *at > now && task.spec.enabled)
                .map(convert::timestamp_to_wire),
            last_decision: decision.map(told_decision),
            current_run: current.map(|run| with_cause(run, cause_of_current)),
            last_run: last.map(|run| with_cause(run, cause_of_last)),
            obstacles,
            state,
        }
    }

    fn obstacles(&self) -> Vec<proto::Obstacle> {
        let mut obstacles = Vec::new();
        let mut add = |kind, text: String, until: Option<DateTime<Utc>>| {
            obstacles.push(obstacle(kind, text, until));
        };
        if self.task.phase == TaskPhase::Deleting {
            let name = self.task.spec.name();
            let text = match self.task.destroy_run {
                Some(_) if self.task.destruction_suspended => format!(
                    "destruction suspended: `cts task delete {name}` goes on with it, and with `-retain` what is left stays"
                ),
                Some(run) => format!(
                    "it is being deleted: run {run} destroys its infrastructure, and it goes when that has succeeded"
                ),
                None => "it is being deleted: no run begins, and it goes when the running one ends"
                    .to_owned(),
            };
            add(ObstacleKind::Deleting, text, None);
        }
        if let Some(problem) = &self.task.spec.requirement.unusable_module {
            let text = format!(
                "its module cannot be used, and is read again before each run and once a minute: {}",
                excerpt(problem, ERROR_SHOWN)
            );
            add(ObstacleKind::ModuleUnusable, text, None);
        }
        if let Some(stuck) = &self.stuck {
            add(ObstacleKind::NoCapableWorker, stuck.clone(), None);
        }
        if !self.task.spec.enabled {
            let mut text = "it is disabled: changes do not run it".to_owned();
            if let Some(error) = &self.check_error {
                let error = excerpt(&brief_newest_error(error), ERROR_SHOWN);
                text = format!("{text}; it would not run either, its check has failed: {error}");
            }
            add(ObstacleKind::Disabled, text, None);
        }
        if !self.led {
            let text = "no scheduler leads, so changes are not looked at";
            add(ObstacleKind::NoLeader, text.to_owned(), None);
        }
        let current = self.current.as_ref();
        if let Some(run) = current.filter(|run| run.status == RunStatus::Running) {
            let mut text = match &run.waiting_for {
                Some(waiting_for) => format!("run {} waits for {waiting_for}", run.id),
                None => format!("run {} is running, and a task runs once at a time", run.id),
            };
            if let Some(remote) = &run.remote_run {
                text = format!("{text}: {}", remote.state_text());
            }
            let group = self.task.spec.file_settings.concurrency_group.as_ref();
            if let Some(group) = group.filter(|_| run.waiting_for.is_some() && has_open_remote(run))
            {
                text = format!("{text}; it keeps the concurrency group {group:?} meanwhile");
            }
            add(ObstacleKind::Running, text, None);
            if run.awaits_ending() {
                self.worker_obstacle(&mut add);
            }
        }
        self.loss_obstacles(&mut add);
        if let Some(owed) = self.owes_run.filter(|_| current.is_none()) {
            let text = format!("{}: the next run does", owed.waiting());
            add(ObstacleKind::Held, text, None);
        }
        if let Some(conflict) = &self.state_conflict {
            let text = format!(
                "{}; `cts task state {}` shows both sides, and -keep decides",
                excerpt(conflict, ERROR_SHOWN),
                self.task.spec.name()
            );
            add(ObstacleKind::StateConflict, text, None);
        }
        if self.task.spec.enabled {
            self.input_obstacles(&mut add);
        }
        let suspended = self.task.destruction_suspended;
        let waits = !suspended && self.stuck.is_none();
        let queued = current.filter(|run| run.status == RunStatus::Queued && waits);
        if let Some(run) = queued {
            self.queue_obstacles(run, &mut add);
        }
        obstacles
    }

    /// The shrink limit of the task, the brake of the fleet, and the consent of a person.
    fn loss_obstacles(&self, add: &mut impl FnMut(ObstacleKind, String, Option<DateTime<Utc>>)) {
        let name = self.task.spec.name();
        if let Some(blocked) = &self.held {
            let mut losses = blocked.losses.clone();
            if blocked.brake.is_some() {
                let limit = self.task.spec.file_settings.guard;
                losses.retain(|loss| limit.forbids(loss.applied, loss.now));
            }
            if let Some(losses) = losses_text(&losses) {
                let since = blocked.since.to_rfc3339_opts(SecondsFormat::Secs, true);
                let text = format!(
                    "a guard holds it back since {since}: {losses}; it goes on when it is released (`cts task release {name}`) \
                     or the instances are back"
                );
                add(ObstacleKind::Held, text, None);
            }
        }
        let braked = self.held.as_ref().filter(|held| held.brake.is_some());
        let shown = self.current.as_ref().map(ShownRun::from);
        if braked.is_some() || shown.as_ref().is_some_and(is_braked) {
            add(ObstacleKind::Brake, brake_text(braked, name), None);
        }
        if let Some(run) = shown.filter(awaits_consent) {
            let text = approval_text(&run, self.approval.as_ref());
            add(ObstacleKind::Approval, text, None);
        }
    }

    fn input_obstacles(&self, add: &mut impl FnMut(ObstacleKind, String, Option<DateTime<Utc>>)) {
        let Some(Written { known, .. }) = &self.written else {
            return;
        };
        let (complete, incomplete): (Vec<_>, Vec<_>) =
            known.views.iter().partition(|view| view.complete);
        if !incomplete.is_empty() {
            let names: Vec<&str> = incomplete.iter().map(|view| view.name.as_str()).collect();
            let mut text = format!("not read from Consul yet: {}", names.join(", "));
            if let Some(problem) = told_problems(&incomplete) {
                text = format!("{text}; {problem}");
            }
            add(ObstacleKind::InputIncomplete, text, None);
        }
        if let Some(problem) = told_problems(&complete) {
            let text = format!("changes are not seen, and the data read before is used; {problem}");
            add(ObstacleKind::ViewUnreadable, text, None);
        }
        for view in &known.views {
            if let Some(unreadable) = &view.unreadable {
                let kind = if unreadable.waits {
                    ObstacleKind::InputIncomplete
                } else {
                    ObstacleKind::ViewUnreadable
                };
                add(kind, unreadable_text(&view.name, unreadable), None);
            }
        }
        if let Some(until) = known.buffered_until.filter(|until| *until > self.now) {
            let text = "changes are collected until its buffer period ends".to_owned();
            add(ObstacleKind::Buffering, text, Some(until));
        }
    }

    fn queue_obstacles(
        &self,
        run: &RunRecord,
        add: &mut impl FnMut(ObstacleKind, String, Option<DateTime<Utc>>),
    ) {
        let shown = ShownRun::from(run);
        if is_braked(&shown) || awaits_consent(&shown) {
            // The brake or the consent is an obstacle already.
            return;
        }
        if run.due_at > self.now {
            let text = match run.attempts {
                0 => format!("run {} tries a failed input again", run.id),
                attempts => format!("run {} has failed {attempts} times and tries again", run.id),
            };
            // Above all, whether it failed or has lost its worker.
            let error = run.error().map(|error| brief_newest_error(&error));
            let text = match error {
                Some(error) => format!("{text}: {}", excerpt(&error, ERROR_SHOWN)),
                None => text,
            };
            add(ObstacleKind::NotDue, text, Some(run.due_at));
            return;
        }
        if let (RunKind::Apply | RunKind::Destroy, Some(holder), Some(group)) = (
            run.kind,
            &self.group_holder,
            &self.task.spec.file_settings.concurrency_group,
        ) {
            let text = taken_group(group, holder, self.visible);
            add(ObstacleKind::GroupBusy, text, None);
            return;
        }
        self.worker_obstacle(add);
    }

    fn worker_obstacle(&self, add: &mut impl FnMut(ObstacleKind, String, Option<DateTime<Utc>>)) {
        if let Some(reason) = &self.no_worker {
            let kind = if reason.ends_by_itself() {
                ObstacleKind::NoFreeSlot
            } else {
                ObstacleKind::NoCapableWorker
            };
            add(kind, reason.to_string(), None);
        }
    }
}

fn obstacle(kind: ObstacleKind, text: String, until: Option<DateTime<Utc>>) -> proto::Obstacle {
    proto::Obstacle {
        kind: kind.into(),
        text,
        until: until.map(convert::timestamp_to_wire),
    }
}

fn told_decision(decision: KnownDecision) -> proto::Decision {
    let kind = match decision.kind {
        DecisionKind::Queued => proto::DecisionKind::Queued,
        DecisionKind::Merged => proto::DecisionKind::Merged,
        DecisionKind::Unchanged => proto::DecisionKind::SkippedUnchanged,
        DecisionKind::Held => proto::DecisionKind::Held,
        DecisionKind::Failed => proto::DecisionKind::Failed,
    };
    proto::Decision {
        kind: kind.into(),
        at: Some(convert::timestamp_to_wire(decision.at)),
        run_id: decision.run.map(|run| run.to_string()).unwrap_or_default(),
        text: decision.text,
    }
}
