//! The state of a task at a moment, from the store and from the leader's notes.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use cts_core::runs::{RunStatus, brief_newest_error};
use cts_core::{CurrentState, OpenRun, StateFacts, WorkerId, excerpt, losses_text};
use cts_proto::task::v1 as proto;
use cts_rpc::convert;
use cts_store::{ShownRun, TaskState, WorkerState};

use super::approval::{awaits_consent, consent_text};
use super::brake::is_braked;
use super::known::{KnownProblem, KnownTask};

/// Characters of a reason that are shown.
const TEXT_SHOWN: usize = 500;

/// Begins the reason of a task that the brake of the fleet holds.
const BY_BRAKE: &str = "held by the brake of the fleet";

/// Known facts about one task.
pub(super) struct Facts<'a> {
    pub(super) state: &'a TaskState,
    pub(super) deleting: bool,
    /// Why its destruction cannot go on before an operator does something.
    pub(super) stuck: Option<&'a str>,
    /// The running run, or else the queued run.
    pub(super) run: Option<&'a ShownRun>,
    pub(super) known: Option<&'a KnownTask>,
    /// Why due runs wait, if that is the same for all.
    pub(super) no_worker: Option<&'a str>,
}

/// The conflict of the task's Terraform state, in one line, until a decision resolves it.
pub(super) fn state_conflict(state: &TaskState) -> Option<String> {
    let (conflict, _at) = state.conflict.as_ref()?;
    let reason = &conflict.reason;
    Some(format!("its Terraform state is in a conflict: {reason}"))
}

/// Maps each worker to the name of its machine.
pub(super) fn hosts(workers: &[WorkerState]) -> HashMap<WorkerId, String> {
    let workers = workers.iter().map(|state| &state.worker);
    workers
        .map(|worker| (worker.id.clone(), worker.host.clone()))
        .collect()
}

impl Facts<'_> {
    /// The state of the task, with its reason.
    pub(super) fn current(
        &self,
        hosts: &HashMap<WorkerId, String>,
        now: DateTime<Utc>,
    ) -> proto::CurrentState {
        let newest = self.state.events.first();
        let facts = StateFacts {
            status: self.state.status,
            newest_event: newest.map(|event| event.end_time),
            enabled: self.state.enabled,
            deleting: self.deleting,
            stuck: self.stuck.is_some(),
            run: self.run.map(open_run),
            blocked_since: self.blocked_since(),
            unread_since: self.problem().map(|(_, problem)| problem.since),
            waits: self.awaited_views().is_some(),
            waits_since: self.known.and_then(|known| known.waits_since),
            buffered_until: self.known.and_then(|known| known.buffered_until),
        };
        let timed = facts.at(now);
        let worker = self.run.and_then(|run| run.worker.as_ref());
        let worker = worker.map(|id| hosts.get(id).map_or(id.as_str(), String::as_str));
        let phase = self.run.and_then(|run| run.phase);
        proto::CurrentState {
            name: convert::current_state_to_wire(timed.state).into(),
            since: timed.since.map(convert::timestamp_to_wire),
            // A run that the brake holds is never due.
            until: timed
                .until
                .filter(|_| !self.has_braked_run())
                .map(convert::timestamp_to_wire),
            text: excerpt(&self.text(timed.state), TEXT_SHOWN),
            run_id: self.run.map(|run| run.id.to_string()).unwrap_or_default(),
            worker: worker.unwrap_or_default().to_owned(),
            phase: phase
                .map(|(phase, _)| convert::run_phase_to_wire(phase))
                .unwrap_or_default()
                .into(),
            phase_since: phase.map(|(_, since)| convert::timestamp_to_wire(since)),
        }
    }

    /// The first view that cannot be read, and why.
    fn problem(&self) -> Option<(&str, &KnownProblem)> {
        let views = self.known?.views.iter();
        let mut problems = views.filter_map(|view| Some((&*view.name, view.problem.as_ref()?)));
        problems.next()
    }

    /// Whether the views of the task have problems, and all problems belong to common outages.
    pub(super) fn shares_outage(&self) -> bool {
        let views = self.known.into_iter().flat_map(|known| &known.views);
        let problems = views.filter_map(|view| view.problem.as_ref());
        let mut outages = problems.map(|problem| problem.outage).peekable();
        outages.peek().is_some() && outages.all(|is_outage| is_outage)
    }

    /// Views that were never read.
    fn unread_views(&self) -> impl Iterator<Item = &str> {
        let views = self.known.into_iter().flat_map(|known| &known.views);
        views
            .filter(|view| !view.complete)
            .map(|view| view.name.as_str())
    }

    /// The views that the next run waits for, and the remedy; `None` if the run waits for no view.
    fn awaited_views(&self) -> Option<String> {
        let mut views = self.known?.views.iter();
        let unreadable = views.find_map(|view| {
            let unreadable = view.unreadable.as_ref().filter(|keys| keys.waits)?;
            let keys = &unreadable.keys;
            Some(format!(
                "the first run waits for {}: put text in UTF-8 into {keys}, or delete such keys",
                view.name
            ))
        });
        let unread: Vec<&str> = self.unread_views().collect();
        let unread = (!unread.is_empty())
            .then(|| format!("not read from Consul yet: {}", unread.join(", ")));
        unreadable.or(unread)
    }

    fn text(&self, state: CurrentState) -> String {
        match state {
            CurrentState::Running => self
                .run
                .map(|run| run.kind.as_str().to_owned())
                .unwrap_or_default(),
            CurrentState::Waiting => self.waited_for(),
            CurrentState::Queued => self.no_worker.unwrap_or("waits for a worker").to_owned(),
            CurrentState::Retrying => {
                let of_run = self.run.and_then(|run| run.error.as_deref());
                of_run.map_or_else(|| self.newest_error(), brief_newest_error)
            }
            CurrentState::Blocked => self.blocked_by(),
            CurrentState::Blind => self
                .problem()
                .map(|(view, problem)| format!("{view}: {}", problem.text))
                .or_else(|| self.awaited_views())
                .unwrap_or_default(),
            CurrentState::Disabled => {
                let error = self.state.check_error.as_deref();
                error.map_or_else(String::new, brief_newest_error)
            }
            CurrentState::Errored | CurrentState::Critical => self.newest_error(),
            CurrentState::Deleting | CurrentState::NeverRun | CurrentState::Successful => {
                String::new()
            }
        }
    }

    /// The error of the newest run in one line; empty if the run succeeded.
    fn newest_error(&self) -> String {
        let newest = self.state.events.first();
        let error = newest.and_then(|event| event.error.as_deref());
        error.map_or_else(String::new, brief_newest_error)
    }

    fn blocked_since(&self) -> Option<DateTime<Utc>> {
        let held = self.state.held.as_ref();
        let conflict = self.state.conflict.as_ref();
        held.map(|held| held.since)
            .or_else(|| conflict.map(|(_, at)| *at))
            .or_else(|| self.run.filter(|run| is_braked(run))?.started_at)
    }

    fn has_braked_run(&self) -> bool {
        self.run.is_some_and(is_braked)
    }

    fn blocked_by(&self) -> String {
        if let Some(stuck) = self.stuck {
            return stuck.to_owned();
        }
        let held = self.state.held.as_ref();
        let losses = held.and_then(|held| losses_text(&held.losses));
        let is_braked = held.is_some_and(|held| held.brake.is_some()) || self.has_braked_run();
        let losses = match (losses, is_braked) {
            (Some(losses), true) => Some(format!("{BY_BRAKE}: {losses}")),
            (None, true) => Some(BY_BRAKE.to_owned()),
            (losses, false) => losses,
        };
        let losses = losses.map(|losses| match self.state.owes_run {
            Some(owed) => format!("{losses}; {}", owed.waiting()),
            None => losses,
        });
        losses
            .or_else(|| state_conflict(self.state))
            .unwrap_or_default()
    }

    fn waited_for(&self) -> String {
        if let Some(run) = self.run.filter(|run| awaits_consent(run)) {
            return consent_text(run.id);
        }
        if let Some(run) = self.run
            && let Some(reason) = &run.waiting_for
        {
            let no_worker = self.no_worker.filter(|_| run.awaits_ending());
            return match no_worker {
                Some(no_worker) => format!("{reason}; {no_worker}"),
                None => reason.clone(),
            };
        }
        let awaited = self.awaited_views();
        awaited.unwrap_or_else(|| "the end of its buffer period".to_owned())
    }
}

fn open_run(run: &ShownRun) -> OpenRun {
    if awaits_consent(run) {
        return OpenRun::Awaits {
            since: run.started_at,
        };
    }
    match run.status {
        RunStatus::Running => OpenRun::Running {
            since: run.started_at,
            waits: run.waiting_for.is_some(),
        },
        _ => OpenRun::Queued { due_at: run.due_at },
    }
}
