//! The condition of everything, for `GetOverview`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::TaskName;
use cts_core::settings::SettingsGeneration;
use cts_proto::cluster::v1 as proto;
use cts_proto::json::Word as _;
use cts_proto::run::v1::GetQueueResponse;
use cts_proto::task::v1::CurrentState;
use cts_proto::watch::v1::GetConsulRequest;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::convert::current_state_to_wire;
use cts_rpc::{Paced, PeerCondition, Peers, convert};
use cts_store::{MemberState, StoreError, WorkerState};
use futures::future::join_all;
use tokio::time::timeout;
use tonic::Response;

use super::queue::queue_of;
use crate::explain::{Board, Looked, Summary, ViewCounts};
use crate::leader::settings::other_settings;
use crate::liveness::is_lost;

/// Shortest time between two makings of the overview.
const PAUSE: Duration = Duration::from_millis(50);

/// Time for a watcher to answer.
const WATCHER_LIMIT: Duration = Duration::from_millis(500);

/// Most problems of one answer.
const PROBLEMS: usize = 100;

/// Makes the condition of everything, for all who ask at the same time.
#[derive(Debug)]
pub(crate) struct Overviews {
    board: Board,
    made: Paced<Arc<proto::GetOverviewResponse>, Arc<StoreError>>,
}

impl Overviews {
    /// Overviews with the tasks of this board.
    pub(crate) fn new(board: Board) -> Self {
        Self {
            board,
            made: Paced::new(PAUSE),
        }
    }

    /// The condition of everything, a moment old; `watchers` are as this replica reaches them.
    pub(super) async fn newest(
        &self,
        watchers: &Peers,
    ) -> Result<Arc<proto::GetOverviewResponse>, Arc<StoreError>> {
        let make = || {
            let (board, watchers) = (self.board.clone(), watchers.clone());
            async move {
                let (looked, silent) = tokio::join!(board.look(), silent_consuls(&watchers));
                let looked = looked?;
                let rest = async {
                    let depth = board.store().queue_depth().await?;
                    Ok((depth, board.store().settings().await?))
                };
                let (depth, settings) = rest.await.map_err(Arc::new)?;
                let queue = queue_of(depth, &looked.waiting, &looked.workers);
                let overview = overview(
                    (&looked, board.leadership()),
                    (queue, &settings),
                    board.summary(PROBLEMS),
                    (&watchers.conditions(), &silent),
                    board.clock().now(),
                );
                Ok(Arc::new(overview))
            }
        };
        self.made.get(make).await
    }
}

fn overview(
    (looked, leadership): (&Looked, Duration),
    (queue, settings): (GetQueueResponse, &[SettingsGeneration]),
    tasks: Summary,
    (watchers, silent): (&[PeerCondition], &BTreeMap<String, Duration>),
    now: DateTime<Utc>,
) -> proto::GetOverviewResponse {
    let members = looked.members.iter().cloned();
    let members: Vec<_> = members.map(|state| member(state, leadership)).collect();
    let workers = looked.workers.iter().filter(|state| !state.replaced);
    let workers = workers.cloned().map(|state| {
        let other_settings = other_settings(&state.worker, settings);
        worker(state, other_settings)
    });
    let workers: Vec<_> = workers.collect();
    let data = observed_data(tasks.views);
    let mut problems = of_cluster(&members, &workers, &queue, (&data, tasks.in_outage));
    problems.extend(silent.iter().map(of_silent_consul));
    problems.extend(watchers.iter().filter_map(of_watcher));
    let all = problems.len() + tasks.problem_count;
    problems.extend(tasks.problems.into_iter().map(of_task));
    problems.truncate(PROBLEMS);
    let more = all - problems.len();
    let counts = tasks.counts.into_iter();
    let counts = counts.map(|(state, count)| (current_state_to_wire(state).word(), count));
    proto::GetOverviewResponse {
        problems,
        more_problems: u32::try_from(more).unwrap_or(u32::MAX),
        members,
        workers,
        queue: Some(queue),
        data: Some(data),
        tasks: counts.collect(),
        at: Some(convert::timestamp_to_wire(now)),
        watchers: watchers.iter().map(watcher).collect(),
    }
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

/// Problems that are not those of one task.
fn of_cluster(
    members: &[proto::OverviewMember],
    workers: &[proto::OverviewWorker],
    queue: &GetQueueResponse,
    (data, in_outage): (&proto::ObservedData, usize),
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
        let tasks = match in_outage {
            0 => String::new(),
            1 => ", so 1 task does not see changes".to_owned(),
            tasks => format!(", so {tasks} tasks do not see changes"),
        };
        texts.push(format!(
            "{} of {} views of Consul cannot be read{tasks}: {}",
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

/// How long each Consul has answered nothing, by its address, as the watchers see it. A watcher of an earlier version does
/// not say.
async fn silent_consuls(watchers: &Peers) -> BTreeMap<String, Duration> {
    let watchers = Arc::clone(&watchers.healthy().borrow());
    let calls = watchers.iter().map(|watcher| {
        let mut client = WatchServiceClient::new(watcher.channel());
        async move { timeout(WATCHER_LIMIT, client.get_consul(GetConsulRequest {})).await }
    });
    let answers = join_all(calls).await.into_iter().flatten().flatten();
    let mut silent = BTreeMap::new();
    for consul in answers.map(Response::into_inner) {
        if consul.silent_for.is_some() {
            let silent_for = convert::duration_from_wire(consul.silent_for.as_ref());
            let longest: &mut Duration = silent.entry(consul.address).or_default();
            *longest = silent_for.max(*longest);
        }
    }
    silent
}

fn of_silent_consul((address, silent_for): (&String, &Duration)) -> proto::Problem {
    proto::Problem {
        text: format!(
            "Consul at {address} stands still: it has answered nothing for {} s, so changes are not seen; is its process \
             stopped, or short of CPU, memory or disk?",
            silent_for.as_secs()
        ),
        ..proto::Problem::default()
    }
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

fn of_task((name, state): (TaskName, CurrentState)) -> proto::Problem {
    proto::Problem {
        task_name: name.to_string(),
        text: state.text.clone(),
        state: Some(state),
    }
}
