//! The scheduler's answers about tasks, runs and logs.

use std::time::Duration;

use cts_proto::log::v1 as log;
use cts_proto::run::v1 as run;
use cts_proto::task::v1 as task_proto;
use tonic::Code;

use crate::calls::{applied, completion};
use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn unknown_and_impossible_names_are_not_found() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    for name in ["other", "a/b", "1a", ""] {
        let request = task_proto::GetTaskRequest { name: name.into() };
        let refused = setup.tasks.clone().get_task(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{name:?}");
    }
}

#[tokio::test]
async fn events_and_status_follow_the_runs() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    assert_eq!(
        setup.state("t").await.status(),
        task_proto::TaskStatus::Unknown
    );
    setup.watcher.show(vec![instance("w", 1)]);
    setup.applied(&setup.acquired().await).await;
    let after = setup.state("t").await;
    assert_eq!(after.status(), task_proto::TaskStatus::Successful);
    assert_eq!(after.events.len(), 1);
    assert_eq!(after.events[0].source, "/m");
}

#[tokio::test]
async fn a_follower_sees_every_status_of_a_run() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    let request = run::FollowRunsRequest {
        task_name: "t".into(),
        ..run::FollowRunsRequest::default()
    };
    let mut changes = setup
        .runs
        .clone()
        .follow_runs(request)
        .await
        .unwrap()
        .into_inner();
    setup.watcher.show(vec![]);
    setup.applied(&setup.acquired().await).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(changes.message().await.unwrap().unwrap().status());
    }
    let expected = [
        run::RunStatus::Queued,
        run::RunStatus::Running,
        run::RunStatus::Succeeded,
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_follower_of_a_log_gets_lines_as_they_come_and_the_end() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let line = |text: &str| log::LogLine {
        stream: 2,
        text: text.into(),
    };
    let batch = log::AppendLogRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        lines: vec![line("one"), line("two")],
    };
    let request = log::ReadLogRequest {
        run_id: lease.run_id.clone(),
        after_position: 1,
        follow: true,
        one_part: false,
    };
    let mut parts = setup
        .logs
        .clone()
        .read_log(request)
        .await
        .unwrap()
        .into_inner();
    setup
        .logs
        .clone()
        .append_log(tokio_stream::once(batch))
        .await
        .unwrap();
    let part = parts.message().await.unwrap().unwrap();
    assert_eq!((part.position, part.lines), (2, vec![line("two")]));

    let completed = run::CompleteRunRequest {
        log: vec![line("three")],
        ..completion(&lease, applied())
    };
    setup.runs.clone().complete_run(completed).await.unwrap();
    let part = parts.message().await.unwrap().unwrap();
    assert_eq!(part.lines, [line("three")]);
    assert!(
        parts.message().await.unwrap().is_none(),
        "the run has ended"
    );
}
