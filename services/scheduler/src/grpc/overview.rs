//! The condition of everything, for `GetOverview`.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_core::{Clock, CurrentState, TaskName};
use cts_proto::cluster::v1 as proto;
use cts_proto::json::Word as _;
use cts_proto::run::v1::GetQueueResponse;
use cts_proto::task::v1 as task;
use cts_rpc::{PeerCondition, convert};
use cts_store::{MemberState, Store, StoreError, WorkerState};

use super::queue::queue;
use crate::explain::{ViewCounts, current_states};
use crate::leader::settings::other_settings;
use crate::liveness::{FORGOTTEN_AFTER, is_lost};

/// Most problems of one answer.
const PROBLEMS: usize = 100;

/// Reads the condition of everything; `leadership` is the life of the leadership, and `watchers` are as this replica
/// reaches them.
pub(super) async fn overview(
    store: &dyn Store,
    leadership: Duration,
    watchers: &[PeerCondition],
    clock: &dyn Clock,
) -> Result<proto::GetOverviewResponse, StoreError> {
    let members = store.members(leadership * 3).await?;
    let workers = store.workers(FORGOTTEN_AFTER).await?;
    let settings = store.settings().await?;
    let queue = queue(store, &workers).await?;
    let tasks = store.task_states(None).await?;
    let current = current_states(store, &tasks, clock).await?;
    let members: Vec<_> = members
        .into_iter()
        .map(|state| member(state, leadership))
        .collect();
    let workers = workers.into_iter().map(|state| {
        let other_settings = other_settings(&state.worker, &settings);
        worker(state, other_settings)
    });
    let workers: Vec<_> = workers.collect();
    let data = observed_data(current.views);
    let tasks = counts(&current.states);
    let mut problems = of_cluster(&members, &workers, &queue, &data);
    problems.extend(watchers.iter().filter_map(of_watcher));
    problems.extend(of_tasks(current.states));
    let more = problems.len().saturating_sub(PROBLEMS);
    problems.truncate(PROBLEMS);
    Ok(proto::GetOverviewResponse {
        problems,
        more_problems: u32::try_from(more).unwrap_or(u32::MAX),
        members,
        workers,
        queue: Some(queue),
        data: Some(data),
        tasks,
        at: Some(convert::timestamp_to_wire(clock.now())),
        watchers: watchers.iter().map(watcher).collect(),
    })
}

fn member(state: MemberState, leadership: Duration) -> proto::OverviewMember {
    proto::OverviewMember {
        healthy: state.silent_for < leadership,
        leader: state.leader,
        silent_for: Some(convert::duration_to_wire(state.silent_for)),
        id: state.member.id,
    }
}

fn watcher(condition: &PeerCondition) -> proto::OverviewWatcher {
    proto::OverviewWatcher {
        address: condition.address.clone(),
        socket: condition.socket.clone(),
        healthy: condition.healthy,
        since: condition.since.map(convert::timestamp_to_wire),
        reason: condition.reason.clone(),
    }
}

fn worker(state: WorkerState, other_settings: Vec<String>) -> proto::OverviewWorker {
    let condition = match (is_lost(&state), state.worker.draining) {
        (true, _) => proto::WorkerCondition::Lost,
        (false, true) => proto::WorkerCondition::Draining,
        (false, false) => proto::WorkerCondition::Active,
    };
    let capabilities = convert::capabilities_to_wire(&state.worker.capabilities);
    let engines = capabilities.engines.into_iter();
    proto::OverviewWorker {
        id: state.worker.id.to_string(),
        host: state.worker.host,
        version: state.worker.version,
        condition: condition.into(),
        running: state.running,
        slots: state.worker.slots,
        engines: engines
            .map(|engine| format!("{} {}", engine.driver, engine.version))
            .collect(),
        other_settings,
        silent_for: Some(convert::duration_to_wire(state.silent_for)),
        since: Some(convert::timestamp_to_wire(state.since)),
        problem: state
            .worker
            .problem
            .map(|problem| problem.reason)
            .unwrap_or_default(),
    }
}

fn observed_data(counts: ViewCounts) -> proto::ObservedData {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (since, reason) = counts.first.unzip();
    proto::ObservedData {
        views: number(counts.views),
        incomplete: number(counts.incomplete),
        unreadable: number(counts.unreadable),
        unreadable_since: since.map(convert::timestamp_to_wire),
        reason: reason.unwrap_or_default(),
    }
}

fn counts(states: &BTreeMap<TaskName, task::CurrentState>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for state in states.values() {
        *counts.entry(state.name().word()).or_insert(0) += 1;
    }
    counts
}

/// Problems that are not those of one task.
fn of_cluster(
    members: &[proto::OverviewMember],
    workers: &[proto::OverviewWorker],
    queue: &GetQueueResponse,
    data: &proto::ObservedData,
) -> Vec<proto::Problem> {
    let mut texts = Vec::new();
    if !members.iter().any(|member| member.leader) {
        texts.push("no scheduler leads, so changes are not looked at".to_owned());
    }
    for member in members.iter().filter(|member| !member.healthy) {
        let silent = convert::duration_from_wire(member.silent_for.as_ref()).as_secs();
        texts.push(format!(
            "scheduler {} has not written to the database for {silent} s",
            member.id
        ));
    }
    for runs in &queue.waiting {
        let oldest = convert::duration_from_wire(runs.oldest.as_ref()).as_secs();
        texts.push(format!(
            "due runs that no worker takes: {}, the oldest, of {}, for {oldest} s: {}",
            runs.runs, runs.task_name, runs.reason
        ));
    }
    if data.unreadable > 0 {
        texts.push(format!(
            "{} of {} views of Consul cannot be read: {}",
            data.unreadable, data.views, data.reason
        ));
    }
    for worker in workers {
        if worker.condition() == proto::WorkerCondition::Lost {
            let silent = convert::duration_from_wire(worker.silent_for.as_ref()).as_secs();
            texts.push(format!(
                "worker {} on {} has been silent for {silent} s",
                worker.id, worker.host
            ));
            continue;
        }
        if !worker.problem.is_empty() {
            texts.push(format!(
                "the own check of worker {} on {} fails: {}",
                worker.id, worker.host, worker.problem
            ));
        }
        if !worker.other_settings.is_empty() {
            texts.push(format!(
                "worker {} on {} has other blocks than those in force: {}",
                worker.id,
                worker.host,
                worker.other_settings.join(", ")
            ));
        }
    }
    let problem = |text| proto::Problem {
        text,
        ..proto::Problem::default()
    };
    texts.into_iter().map(problem).collect()
}

/// The problem that a watcher cannot be reached.
fn of_watcher(condition: &PeerCondition) -> Option<proto::Problem> {
    if condition.reason.is_empty() {
        return None;
    }
    Some(proto::Problem {
        text: format!(
            "the watcher at {} cannot be used: {}",
            condition.address, condition.reason
        ),
        ..proto::Problem::default()
    })
}

/// Problems of tasks, the most important first.
fn of_tasks(states: BTreeMap<TaskName, task::CurrentState>) -> Vec<proto::Problem> {
    let rank = |state: &task::CurrentState| {
        let state = convert::current_state_from_wire(state.name())?;
        CurrentState::ALL.iter().position(|known| *known == state)
    };
    let is_problem = |state: &task::CurrentState| {
        convert::current_state_from_wire(state.name()).is_some_and(CurrentState::is_problem)
    };
    let mut problems: Vec<_> = states
        .into_iter()
        .filter(|(_, state)| is_problem(state))
        .collect();
    problems.sort_by_key(|(_, state)| rank(state));
    problems
        .into_iter()
        .map(|(name, state)| proto::Problem {
            task_name: name.to_string(),
            text: state.text.clone(),
            state: Some(state),
        })
        .collect()
}
