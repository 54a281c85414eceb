//! The scheduler's answers about tasks, runs and logs.

use std::time::Duration;

use cts_proto::log::v1 as log;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::task::v1 as task_proto;
use tonic::Code;

use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_secs(30);

async fn state(setup: &Setup, name: &str) -> task_proto::TaskState {
    let request = task_proto::GetTaskStateRequest {
        name: name.into(),
        include_events: true,
    };
    setup
        .tasks
        .clone()
        .get_task_state(request)
        .await
        .unwrap()
        .into_inner()
        .state
        .unwrap()
}

#[tokio::test]
async fn tasks_are_listed_in_the_order_of_the_configuration() {
    let setup = Setup::new(vec![task("zeta"), task("alpha")], LONG).await;
    let mut parts = setup
        .tasks
        .clone()
        .list_tasks(task_proto::ListTasksRequest {})
        .await
        .unwrap()
        .into_inner();
    let mut names = Vec::new();
    while let Some(part) = parts.message().await.unwrap() {
        names.extend(part.tasks.into_iter().map(|task| task.name));
    }
    assert_eq!(names, ["zeta", "alpha"]);
}

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
        state(&setup, "t").await.status(),
        task_proto::TaskStatus::Unknown
    );
    setup.watcher.show(vec![instance("w", 1)]);
    setup.applied(&setup.acquired().await).await;
    let after = state(&setup, "t").await;
    assert_eq!(after.status(), task_proto::TaskStatus::Successful);
    assert_eq!(after.events.len(), 1);
    assert_eq!(after.events[0].source, "/m");
}

#[tokio::test]
async fn a_follower_sees_every_status_of_a_run() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    let request = run::FollowRunsRequest {
        task_name: "t".into(),
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

    let completion = run::CompleteRunRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        outcome: Some(Outcome::Applied(run::Applied {})),
        log: vec![line("three")],
        details: None,
        state: None,
        held_for: None,
    };
    setup.runs.clone().complete_run(completion).await.unwrap();
    let part = parts.message().await.unwrap().unwrap();
    assert_eq!(part.lines, [line("three")]);
    assert!(
        parts.message().await.unwrap().is_none(),
        "the run has ended"
    );
}
