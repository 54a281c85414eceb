//! The condition of everything, for `GetOverview`.

mod problems;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::callers::TaskPatterns;
use cts_core::settings::SettingsGeneration;
use cts_core::{WorkerId, WorkerRecord};
use cts_proto::cluster::v1 as proto;
use cts_proto::json::Word as _;
use cts_proto::run::v1::GetQueueResponse;
use cts_proto::watch::v1::GetConsulRequest;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::convert::current_state_to_wire;
use cts_rpc::{Paced, PeerCondition, Peers, convert};
use cts_store::{Approval, MemberState, StoreError, StoredBrake, WorkerState};
use futures::future::join_all;
use tokio::time::timeout;
use tonic::Response;

use self::problems::{
    no_worker, of_approvals, of_brake, of_cluster, of_silent_consul, of_task, of_watcher,
};
use super::brake::brake_to_wire;
use super::queue::queue_of;
use crate::approval::waiting::waiting;
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
    made: Paced<Arc<Made>, Arc<StoreError>>,
}

/// The condition of everything, with data that the condition of some tasks is made of.
type Made = (proto::GetOverviewResponse, Arc<Looked>, Vec<Approval>);

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
    ) -> Result<proto::GetOverviewResponse, Arc<StoreError>> {
        Ok(self.made(watchers).await?.0.clone())
    }

    /// The condition of these tasks, a moment old, for a caller who may see only these (docs/access.md#roles).
    pub(super) async fn limited(
        &self,
        watchers: &Peers,
        tasks: &TaskPatterns,
    ) -> Result<proto::GetOverviewResponse, Arc<StoreError>> {
        let (_, looked, approvals) = &*self.made(watchers).await?;
        let part = self.board.part(tasks, PROBLEMS);
        let workers = looked.workers.iter();
        let workers = workers.map(|state| without_machine(state, &part.running));
        let shown = Looked {
            members: looked.members.clone(),
            workers: workers.collect(),
            waiting: Vec::new(),
        };
        let mut approvals = approvals.clone();
        approvals.retain(|approval| tasks.matches(approval.task.as_str()));
        Ok(overview(
            (&shown, self.board.leadership()),
            (queue_of(part.depth, &[], &looked.workers), &[], None),
            (part.summary, &approvals),
            (&[], &BTreeMap::new()),
            self.board.clock().now(),
        ))
    }

    async fn made(&self, watchers: &Peers) -> Result<Arc<Made>, Arc<StoreError>> {
        let make = || {
            let (board, watchers) = (self.board.clone(), watchers.clone());
            async move {
                let (looked, silent) = tokio::join!(board.look(), silent_consuls(&watchers));
                let looked = looked?;
                let rest = async {
                    let depth = board.store().queue_depth().await?;
                    let settings = board.store().settings().await?;
                    let approvals = board.store().approvals().await?;
                    Ok((depth, settings, board.store().brake().await?, approvals))
                };
                let (depth, settings, brake, approvals) = rest.await.map_err(Arc::new)?;
                let queue = queue_of(depth, &looked.waiting, &looked.workers);
                let brake = Some(brake).filter(|it| it.fleet.setting.is_some());
                let overview = overview(
                    (&looked, board.leadership()),
                    (queue, &settings, brake),
                    (board.summary(PROBLEMS), &approvals),
                    (&watchers.conditions(), &silent),
                    board.clock().now(),
                );
                Ok(Arc::new((overview, looked, approvals)))
            }
        };
        self.made.get(make).await
    }
}

fn overview(
    (looked, leadership): (&Looked, Duration),
    (queue, settings, brake): (GetQueueResponse, &[SettingsGeneration], Option<StoredBrake>),
    (tasks, approvals): (Summary, &[Approval]),
    (watchers, silent): (&[PeerCondition], &BTreeMap<String, Duration>),
    now: DateTime<Utc>,
) -> proto::GetOverviewResponse {
    let members = looked.members.iter().cloned();
    let members: Vec<_> = members.map(|state| member(state, leadership)).collect();
    let workers = WorkerState::shown(&looked.workers);
    let workers = workers.cloned().map(|state| {
        let other_settings = other_settings(&state.worker, settings);
        worker(state, other_settings)
    });
    let workers: Vec<_> = workers.collect();
    let data = observed_data(tasks.views);
    let mut problems: Vec<_> = brake.iter().filter_map(of_brake).collect();
    problems.extend(of_approvals(&waiting(approvals), now));
    problems.extend(of_cluster(
        &members,
        &workers,
        &queue,
        (&data, tasks.in_outage),
    ));
    problems.extend(no_worker(&workers, &queue, &tasks.counts));
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
        brake: brake.map(brake_to_wire),
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

/// A worker without anything that names its machine, with its number of runs by `running`.
fn without_machine(state: &WorkerState, running: &HashMap<WorkerId, u32>) -> WorkerState {
    let id = &state.worker.id;
    let life = id.as_str().trim_start_matches(id.name());
    WorkerState {
        worker: WorkerRecord {
            id: WorkerId::new(life.trim_start_matches('-')),
            host: String::new(),
            problem: None,
            ..state.worker.clone()
        },
        running: running.get(id).copied().unwrap_or_default(),
        ..state.clone()
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

/// How long each Consul has not answered, by its address, as reported by the watchers.
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
