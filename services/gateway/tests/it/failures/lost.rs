//! Changes whose scheduler is lost: they are never made twice.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tonic::Status;

use crate::errors::new_error as error;
use crate::stage::{Answer, Stage};
use crate::tasks::{MemoryTasks, three_tasks};

const TASK: &str = r#"{"task":{"name":"new","module":"m","condition":{}}}"#;
const KNOWN: &str = r#"{"task":{"name":"dns","module":"m","condition":{}}}"#;
const UPDATE: &str = r#"{"enabled":true}"#;

/// Every change, with its body.
const CHANGES: [(&str, &str, &str); 4] = [
    ("POST", "/v1/tasks", TASK),
    ("PUT", "/v1/tasks/dns", KNOWN),
    ("PATCH", "/v1/tasks/dns", UPDATE),
    ("DELETE", "/v1/tasks/dns", ""),
];

async fn change(stage: &Stage, (method, path, body): (&str, &str, &str)) -> Answer {
    let headers = [("Content-Type", "application/json"), ("If-Match", "*")];
    stage
        .ask_with(method, path, &headers, body.as_bytes())
        .await
}

#[tokio::test]
async fn a_scheduler_that_is_gone() {
    let stage = Stage::start_alone().await;
    for request in CHANGES {
        let answer = change(&stage, request).await;
        assert_eq!(answer.status, 503, "{request:?}");
        assert_eq!(answer.body, error("no scheduler is available"));
    }
}

#[tokio::test]
async fn a_change_is_made_once_and_a_deletion_may_be_repeated() {
    for (request, status) in CHANGES.into_iter().zip([503, 503, 503, 202]) {
        let tasks = three_tasks();
        let away = Status::unavailable("the database is away");
        tasks.first.lock().unwrap().push_back(away);
        let stage = Stage::start(tasks.clone()).await;
        let answer = change(&stage, request).await;
        assert_eq!(answer.status, status, "{request:?}: {answer:?}");
        let made = tasks.changes.lock().unwrap().len();
        assert_eq!(made, usize::from(status == 202), "{request:?}");
    }
}

#[tokio::test]
async fn a_scheduler_that_dies_at_work() {
    for request in CHANGES.into_iter().take(3) {
        let answer =
            Stage::when_the_scheduler_dies(async |stage| change(stage, request).await).await;
        assert_eq!(
            answer.body,
            error(
                "the scheduler was lost while it was at work; \
                 the change may be made all the same"
            )
        );
    }
}

#[tokio::test]
async fn changes_have_all_the_time_that_terraform_takes() {
    let tasks = MemoryTasks {
        gate: Arc::new(Semaphore::new(0)),
        ..three_tasks()
    };
    let (arrivals, gate) = (Arc::clone(&tasks.arrivals), Arc::clone(&tasks.gate));
    let stage = Stage::start(tasks).await;
    let time = crate::stage::FrozenTime::start();
    let pass = async {
        arrivals.acquire().await.unwrap().forget();
        time.advance(Duration::from_hours(2)).await;
        gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(change(&stage, CHANGES[0]), pass);
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn a_deletion_whose_answer_was_lost_is_not_a_task_that_is_unknown() {
    let gone = ("DELETE", "/v1/tasks/gone", "");
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    assert_eq!(change(&stage, gone).await.status, 404);
    let lost = Status::unavailable("the scheduler died after its commit");
    tasks.first.lock().unwrap().push_back(lost);
    assert_eq!(change(&stage, gone).await.status, 202);
    assert_eq!(change(&stage, gone).await.status, 404);
}
