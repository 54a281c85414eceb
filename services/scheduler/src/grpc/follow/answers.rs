//! The answers that keys stand for, as hashes that all followers share.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{FollowKey, TaskPatterns};
use cts_core::{ApprovalRule, Incarnation, RunId, TaskName};
use cts_proto::cluster::v1::GetOverviewResponse;
use cts_proto::run::v1::run_service_server::RunService as _;
use cts_proto::run::v1::{GetRunRequest, Run, RunStatus};
use cts_rpc::{Paced, Peers};
use moka::sync::Cache;
use prost::Message;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::{Code, Request, Status};

use super::list::List;
use crate::explain::{Board, TaskMark, explain};
use crate::grpc::approval_service::approval_to_wire;
use crate::grpc::overview::Overviews;
use crate::grpc::run_service::RunEndpoint;
use crate::status::OrStatus as _;

/// Time between two looks of a follower.
pub(super) const PERIOD: Duration = Duration::from_millis(500);

/// A task or an ended run is read again after this time, though nothing is known to have changed.
const AGAIN: Duration = Duration::from_secs(5);

/// Makes answers as the calls of clients do.
#[derive(Debug)]
pub(crate) struct Answers {
    board: Board,
    overviews: Arc<Overviews>,
    watchers: Peers,
    runs: RunEndpoint,
    pub(super) incarnation: Incarnation,
    /// Random, so that no text of a client makes two hashes equal.
    hashing: RandomState,
    looks: Paced<Arc<GetOverviewResponse>, Status>,
    /// Lists by the patterns of their tasks.
    lists: Cache<Vec<String>, Arc<List>>,
    /// Hashes of answers, and until when they stay.
    kept: Cache<Basis, (u64, Instant)>,
    /// Held while an answer is made, so that followers have one reading of the store at a time.
    making: Mutex<()>,
}

/// An answer for callers who see the tasks of these patterns, with the mark of its task, and whether a scheduler leads.
type Basis = (FollowKey, Vec<String>, Option<TaskMark>, bool);

impl Answers {
    pub(crate) fn new(
        (board, runs): (Board, RunEndpoint),
        (overviews, watchers): (Arc<Overviews>, Peers),
        incarnation: Incarnation,
    ) -> Self {
        Self {
            board,
            overviews,
            watchers,
            runs,
            incarnation,
            hashing: RandomState::new(),
            looks: Paced::new(PERIOD / 2),
            lists: kept(100),
            kept: kept(10_000),
            making: Mutex::default(),
        }
    }

    /// The overview. Brings the board up to date.
    pub(super) async fn overview(self: &Arc<Self>) -> Result<Arc<GetOverviewResponse>, Status> {
        let answers = Arc::clone(self);
        let look = || async move {
            let overview = answers.overviews.newest(&answers.watchers).await;
            Ok(Arc::new(overview.or_status()?))
        };
        self.looks.get(look).await
    }

    /// The list of the visible tasks, which is made anew if any task has changed.
    pub(super) fn list(&self, visible: &TaskPatterns) -> Arc<List> {
        let patterns = visible.texts().to_vec();
        let known = self.lists.get(&patterns).unwrap_or_default();
        let Some((marked, tasks)) = self.board.marks(visible, known.marked) else {
            return known;
        };
        let list = Arc::new(List::new(marked, &tasks, &self.hashing));
        self.lists.insert(patterns, Arc::clone(&list));
        list
    }

    /// The hash of an answer besides the list, which is made anew if it may have changed.
    pub(super) async fn hash(
        &self,
        (key, visible): (&FollowKey, &TaskPatterns),
        overview: &GetOverviewResponse,
    ) -> Result<u64, Status> {
        let mark = match key {
            FollowKey::Task(name) => self.board.mark(name),
            _ => None,
        };
        let led = overview.members.iter().any(|member| member.leader);
        let basis = (key.clone(), visible.texts().to_vec(), mark, led);
        let _one_at_a_time = self.making.lock().await;
        if let Some((hash, until)) = self.kept.get(&basis)
            && Instant::now() < until
        {
            return Ok(hash);
        }
        // Much of a run changes without a notice.
        let (hash, has_run) = match key {
            FollowKey::Task(name) => self.task((name, mark), visible).await?,
            FollowKey::Run(run) => self.run(*run, visible).await?,
            _ => (self.common(key, visible, overview).await?, true),
        };
        let stays = if has_run { PERIOD / 2 } else { AGAIN };
        self.kept.insert(basis, (hash, Instant::now() + stays));
        Ok(hash)
    }

    async fn common(
        &self,
        key: &FollowKey,
        visible: &TaskPatterns,
        overview: &GetOverviewResponse,
    ) -> Result<u64, Status> {
        if *key == FollowKey::Approvals {
            let mut approvals = self.board.store().approvals().await.or_status()?;
            approvals.retain(|approval| visible.matches(approval.task.as_str()));
            return Ok(self.hash_of(approvals.into_iter().map(approval_to_wire)));
        }
        let overview = if visible.is_all() {
            overview.clone()
        } else {
            let limited = self.overviews.limited(&self.watchers, visible).await;
            limited.or_status()?
        };
        let overview = without_ages(overview);
        Ok(match key {
            FollowKey::Workers => self.hash_of(overview.workers),
            _ => self.hash_of([overview]),
        })
    }

    /// The explanation of a task, with its mark in place of its status. Its revision stands for its declaration. The causes of
    /// runs are left out: inputs never change.
    async fn task(
        &self,
        (name, mark): (&TaskName, Option<TaskMark>),
        visible: &TaskPatterns,
    ) -> Result<(u64, bool), Status> {
        let (store, clock) = (self.board.store(), self.board.clock());
        let rule = store
            .approval_rule(name)
            .await
            .or_status()?
            .map(ApprovalRule::as_str);
        let leadership = self.board.leadership();
        let explanation = explain(store, name, leadership, clock, (visible, false)).await;
        let explanation = explanation.or_status()?;
        let has_run = explanation.iter().any(|it| it.current_run.is_some());
        let hash = (mark, rule, self.hash_of(explanation));
        Ok((self.hashing.hash_one(hash), has_run))
    }

    /// A run with its attempts, and whether it is open.
    async fn run(&self, run: RunId, visible: &TaskPatterns) -> Result<(u64, bool), Status> {
        let request = GetRunRequest {
            run_id: run.to_string(),
            include_cause: false,
            include_attempts: true,
            visible_tasks: visible.texts().to_vec(),
        };
        let run = match self.runs.get_run(Request::new(request)).await {
            Err(status) if status.code() == Code::NotFound => None,
            answer => answer?.into_inner().run,
        };
        let status = run.as_ref().map(Run::status);
        let is_open = matches!(status, Some(RunStatus::Queued | RunStatus::Running));
        Ok((self.hash_of(run), is_open))
    }

    fn hash_of(&self, messages: impl IntoIterator<Item = impl Message>) -> u64 {
        let messages = messages.into_iter().map(|message| message.encode_to_vec());
        self.hashing.hash_one(messages.collect::<Vec<_>>())
    }
}

/// An empty cache for a short time, so that answers without followers are forgotten.
fn kept<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static>(
    most: u64,
) -> Cache<K, V> {
    let cache = Cache::builder().max_capacity(most).time_to_live(AGAIN);
    cache.build()
}

/// The overview without what passes with time. What becomes of time, such as a lost worker, stays.
fn without_ages(mut overview: GetOverviewResponse) -> GetOverviewResponse {
    overview.at = None;
    for member in &mut overview.members {
        member.silent_for = None;
    }
    for worker in &mut overview.workers {
        worker.silent_for = None;
    }
    if let Some(queue) = &mut overview.queue {
        queue.oldest_ready = None;
        for runs in &mut queue.waiting {
            runs.oldest = None;
        }
    }
    // Texts of tasks have no ages. Numbers in the other texts are ages, or are in other members, too.
    for problem in &mut overview.problems {
        if problem.task_name.is_empty() {
            problem.text.retain(|letter| !letter.is_ascii_digit());
        }
    }
    overview
}

#[cfg(test)]
mod tests {
    use cts_proto::cluster::v1::Problem;
    use cts_proto::run::v1::GetQueueResponse;

    use std::time::Duration;

    use cts_proto::time::{duration_to_wire, timestamp_to_wire};

    use super::*;

    #[test]
    fn only_ages_of_common_problems_are_taken_out() {
        let problem = |task: &str, seconds: i64| Problem {
            task_name: task.to_owned(),
            text: format!("silent for {seconds} s"),
            state: None,
        };
        let overview = |seconds: i64| {
            let length = Duration::from_secs(seconds.unsigned_abs());
            without_ages(GetOverviewResponse {
                problems: vec![problem("", seconds), problem("web", 7)],
                at: Some(timestamp_to_wire((std::time::UNIX_EPOCH + length).into())),
                queue: Some(GetQueueResponse {
                    oldest_ready: Some(duration_to_wire(length)),
                    ..GetQueueResponse::default()
                }),
                ..GetOverviewResponse::default()
            })
        };
        assert_eq!(overview(1), overview(22));
        assert_eq!(overview(1).problems[1].text, "silent for 7 s");
    }
}
