//! `cts.cluster.v1.FollowService`: versions of answers (docs/rest.md#versions-to-follow).
//!
//! A version has the hash of an answer without what passes with time, so that ages change no version, and names the
//! process that made the hash.

mod answers;
mod list;

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{FollowKey, TaskPatterns};
use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::follow_service_server::FollowService;
use futures::stream::{once, try_unfold};
use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

pub(crate) use self::answers::Answers;
use self::answers::PERIOD;
use self::list::List;
use crate::wire::visible_tasks;

/// Limits of the pause between a look and the sending of its versions. Schedulers and gateways keep answers for a shorter
/// time, so that an answer that is requested after its version is not older than the version. Slow answers are kept longer.
const SETTLES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// Shortest time between two versions of a key.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Shortest time between two versions of groups that have only moved, because tasks before them were created or deleted.
const MOVES_TOLD_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct FollowEndpoint {
    pub(crate) answers: Arc<Answers>,
    pub(crate) shutdown: CancellationToken,
}

#[tonic::async_trait]
impl FollowService for FollowEndpoint {
    type FollowStream = Pin<Box<dyn Stream<Item = Result<proto::FollowResponse, Status>> + Send>>;

    async fn follow(
        &self,
        request: Request<proto::FollowRequest>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        let request = request.into_inner();
        let Some(keys) = FollowKey::list(request.keys.iter().map(String::as_str)) else {
            return Err(Status::invalid_argument("1 to 64 known keys are followed"));
        };
        let follower = Follower {
            answers: Arc::clone(&self.answers),
            visible: visible_tasks(request.visible_tasks)?,
            told: vec![None; keys.len()],
            keys,
            list: Arc::default(),
            groups: Vec::new(),
            moved: None,
            next: Instant::now(),
        };
        let (present, follower) = follower.next().await?;
        let next = |it: Follower| async move { it.next().await.map(Some) };
        let versions = once(ready(Ok(present))).chain(try_unfold(follower, next));
        let until_shutdown = versions.take_until(self.shutdown.clone().cancelled_owned());
        Ok(Response::new(Box::pin(until_shutdown)))
    }
}

/// A caller who follows versions.
struct Follower {
    answers: Arc<Answers>,
    keys: Vec<FollowKey>,
    /// The tasks that the caller may see.
    visible: TaskPatterns,
    /// The version of each key that was sent last.
    told: Vec<Option<Told>>,
    list: Arc<List>,
    /// Hashes of the groups of the list that were sent last.
    groups: Vec<u64>,
    /// Time at which groups that had only moved were sent last.
    moved: Option<Instant>,
    next: Instant,
}

#[derive(Clone, Copy)]
struct Told {
    hash: u64,
    at: Instant,
    /// Number of changes of tasks at that time.
    marked: u64,
}

impl Follower {
    /// Waits for versions that were not sent yet.
    async fn next(mut self) -> Result<(proto::FollowResponse, Self), Status> {
        loop {
            sleep_until(self.next).await;
            let begun = Instant::now();
            self.next = begun + PERIOD;
            let hashes = self.look().await?;
            sleep((begun.elapsed() * 4).clamp(SETTLES.0, SETTLES.1)).await;
            // Looks take different times: the pause between two versions of a key is counted between their sendings.
            let at = Instant::now();
            let mut versions = Vec::new();
            for (place, hash) in hashes.into_iter().enumerate() {
                if let Some(groups) = self.due((place, hash), at) {
                    versions.push(proto::KeyVersion {
                        key: self.keys[place].to_string(),
                        version: format!("{}.{hash}", self.answers.incarnation),
                        groups,
                    });
                }
            }
            if !versions.is_empty() {
                return Ok((proto::FollowResponse { versions }, self));
            }
        }
    }

    /// The hashes of the present answers.
    async fn look(&mut self) -> Result<Vec<u64>, Status> {
        use FollowKey::{Causes, Grid, Tasks};
        let overview = self.answers.overview().await?;
        let is_of_list = |key: &FollowKey| matches!(key, Tasks | Grid(_) | Causes);
        // All keys of a look use the same list: groups are compared with the number of its newest change.
        if self.keys.iter().any(is_of_list) {
            self.list = self.answers.list(&self.visible);
        }
        let mut hashes = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            hashes.push(if is_of_list(key) {
                self.list.hash(key)
            } else {
                self.answers.hash((key, &self.visible), &overview).await?
            });
        }
        Ok(hashes)
    }

    /// The groups with which the version of a key is told, if the version is due. The version counts as told from now on.
    fn due(&mut self, (place, hash): (usize, u64), at: Instant) -> Option<Vec<u32>> {
        let told = self.told[place];
        if told.is_some_and(|told| at < told.at + TOLD_EVERY) {
            return None;
        }
        let marked = told.map(|told| told.marked);
        let mut is_due = told.is_none_or(|told| told.hash != hash);
        let mut groups = Vec::new();
        match self.keys[place] {
            FollowKey::Grid(group) if is_due => is_due = self.may_tell(group as usize, marked, at),
            FollowKey::Tasks => {
                groups = self.due_groups(marked, at);
                is_due |= !groups.is_empty();
            }
            _ => {}
        }
        let marked = self.list.marked;
        is_due.then(|| {
            self.told[place] = Some(Told { hash, at, marked });
            groups
        })
    }

    /// The groups that are due, and count as told from now on.
    fn due_groups(&mut self, marked: Option<u64>, at: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        for number in 0..self.list.groups.len().max(self.groups.len()) {
            let known = self.groups.get(number).copied();
            let hash = self.list.group(number).hash;
            if known != Some(hash) && self.may_tell(number, known.and(marked), at) {
                self.groups.resize(self.groups.len().max(number + 1), 0);
                self.groups[number] = hash;
                due.extend(u32::try_from(number));
            }
        }
        due
    }

    /// Whether a group that has changed since this number of changes may be told, as moves are told less often.
    fn may_tell(&mut self, group: usize, marked: Option<u64>, at: Instant) -> bool {
        let newest = self.list.group(group).newest;
        if marked.is_none_or(|marked| newest > marked) {
            return true;
        }
        let told = self.moved.filter(|told| *told != at);
        let may = told.is_none_or(|told| at >= told + MOVES_TOLD_EVERY);
        self.moved = if may { Some(at) } else { self.moved };
        may
    }
}
