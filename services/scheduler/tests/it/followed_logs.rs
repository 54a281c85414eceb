//! Followers of logs: the lines that they get, and the reads that they cost.

mod log_parts;

use std::sync::Arc;
use std::time::Duration;

use cts_proto::log::v1 as log;
use cts_proto::run::v1 as run;
use cts_scheduler::{Options, Sharing};
use cts_store::Member;
use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tonic::Streaming;

use crate::faulty_store::FaultyStore;
use crate::setup::{Setup, WORKER, instance, member, store_in, task};

const FOLLOWERS: usize = 200;

/// Time for which the reads of quiet logs are counted.
const QUIET: Duration = Duration::from_secs(3);

/// Shorter than a delay that a person would notice, on a busy machine.
const PROMPT: Duration = Duration::from_secs(2);

impl Setup {
    async fn followed(&self, run: &str) -> Streaming<log::ReadLogResponse> {
        let request = log::ReadLogRequest {
            run_id: run.into(),
            after_position: 0,
            follow: true,
            one_part: false,
        };
        let answer = self.logs.clone().read_log(request).await;
        answer.unwrap().into_inner()
    }

    async fn append(&self, lease: &run::Lease, text: &str) {
        let batch = log::AppendLogRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.into(),
            lines: vec![line(text)],
        };
        let batches = tokio_stream::once(batch);
        self.logs.clone().append_log(batches).await.unwrap();
    }

    /// Waits until `method` was not called for a while.
    async fn until_no_more(&self, store: &FaultyStore, method: &'static str) {
        let mut known = store.calls(method);
        let mut since = Instant::now();
        self.until(async |_| {
            let calls = store.calls(method);
            if std::mem::replace(&mut known, calls) != calls {
                since = Instant::now();
            }
            (since.elapsed() > QUIET / 2).then_some(())
        })
        .await;
    }
}

fn line(text: &str) -> log::LogLine {
    log::LogLine {
        stream: log::LogStream::Stdout.into(),
        text: text.into(),
    }
}

async fn next(parts: &mut Streaming<log::ReadLogResponse>) -> Option<Vec<log::LogLine>> {
    let part = timeout(PROMPT, parts.message()).await;
    let part = part.expect("it comes promptly").unwrap();
    part.map(|part| part.lines)
}

fn shared(id: &str) -> Options {
    let member = Member {
        id: id.into(),
        ..member()
    };
    Options {
        sharing: Sharing::Shared,
        ..Options::alone(vec![task("t")], member)
    }
}

#[tokio::test]
async fn followers_of_a_quiet_run_cost_next_to_nothing_and_nothing_when_they_are_gone() {
    let options = Options::alone(vec![task("t")], member());
    let (setup, store) = Setup::faulty(options).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let followers = (0..FOLLOWERS).map(|_| setup.followed(&lease.run_id));
    let mut followers = join_all(followers).await;
    setup.append(&lease, "one").await;
    for follower in &mut followers {
        assert_eq!(next(follower).await, Some(vec![line("one")]));
    }
    setup.until_no_more(&store, "read_log").await;
    let looks = || store.calls("read_log") + store.calls("moved_logs");
    let before = looks();
    sleep(QUIET).await;
    let quiet = looks() - before;
    assert!((2..=30).contains(&quiet), "{quiet}");

    setup.append(&lease, "two").await;
    for follower in &mut followers {
        assert_eq!(next(follower).await, Some(vec![line("two")]));
    }
    drop(followers);
    setup.until_no_more(&store, "moved_logs").await;
}

/// Such a store carries no hints.
#[tokio::test]
async fn without_hints_lines_and_ends_reach_followers_at_other_replicas() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let one = Setup::over(Arc::clone(&store), shared("one")).await;
    let two = Setup::over(Arc::clone(&store), shared("two")).await;
    one.watcher.show(vec![]);
    let lease = one.acquired().await;
    let mut followed = two.followed(&lease.run_id).await;
    for text in ["one", "two"] {
        one.append(&lease, text).await;
        assert_eq!(next(&mut followed).await, Some(vec![line(text)]));
    }
    one.applied(&lease).await;
    assert_eq!(next(&mut followed).await, None);
}

#[tokio::test]
async fn the_log_of_a_queued_run_is_followed_from_its_begin() {
    let setup = Setup::new(vec![task("t")], Duration::from_mins(1)).await;
    let changes = run::FollowRunsRequest {
        task_name: "t".into(),
        ..run::FollowRunsRequest::default()
    };
    let changes = setup.runs.clone().follow_runs(changes).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let queued = changes.unwrap().into_inner().message().await;
    let mut followed = setup.followed(&queued.unwrap().unwrap().run_id).await;
    let lease = setup.acquired().await;
    setup.append(&lease, "one").await;
    assert_eq!(next(&mut followed).await, Some(vec![line("one")]));
    setup.applied(&lease).await;
    assert_eq!(next(&mut followed).await, None);
}

/// While the database is away a follower waits; it is not cut off.
#[tokio::test]
async fn a_failed_question_for_all_cuts_nobody_off() {
    let directory = tempfile::tempdir().unwrap();
    let store = FaultyStore::over(store_in(directory.path()).await);
    let setup = Setup::over(Arc::clone(&store), shared("one")).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let mut followed = setup.followed(&lease.run_id).await;
    store.fail("moved_logs", &[crate::faulty_store::Fault::Refused]);
    setup
        .until(async |_| store.has_failed("moved_logs").then_some(()))
        .await;
    setup.append(&lease, "one").await;
    assert_eq!(next(&mut followed).await, Some(vec![line("one")]));
}

#[tokio::test]
async fn a_follower_is_not_shown_an_end_by_a_scheduler_that_shuts_down() {
    let setup = Setup::new(vec![task("t")], Duration::from_mins(1)).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let mut followed = setup.followed(&lease.run_id).await;
    setup.append(&lease, "one").await;
    assert_eq!(next(&mut followed).await, Some(vec![line("one")]));
    drop(setup.stop);
    let end = timeout(PROMPT * 5, followed.message()).await.unwrap();
    assert_eq!(end.unwrap_err().code(), tonic::Code::Unavailable);
}
