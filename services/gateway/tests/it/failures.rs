//! Answers to clients when the scheduler fails: they show the failure, and nothing of its inside.

mod lost;

use std::sync::Arc;
use std::time::Duration;

use cts_proto::cluster::v1::GetClusterResponse;
use cts_rpc::DATABASE_UNREACHABLE;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::Status;

use crate::cluster::MemoryCluster;
use crate::errors::{new_error, plain_error};
use crate::stage::{Scene, Stage};
use crate::tasks::{MemoryTasks, three_tasks};

const PATHS: [&str; 5] = [
    "/v1/status",
    "/v1/status/tasks",
    "/v1/status/tasks/dns",
    "/v1/tasks",
    "/v1/tasks/dns",
];

async fn check(stage: &Stage, status: u16, message: &str) {
    for path in PATHS {
        let answer = stage.ask("GET", path).await;
        let body = if path.starts_with("/v1/tasks") {
            new_error(message)
        } else {
            plain_error(message)
        };
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.body, body, "{path}");
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        assert!(answer.is_open_to_all_origins());
    }
}

#[tokio::test]
async fn a_scheduler_that_is_gone() {
    let stage = Stage::start_alone().await;
    check(&stage, 503, "no scheduler is available").await;
    let answer = stage.ask("GET", "/v1/queue").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body, new_error("no scheduler is available"));
}

#[tokio::test]
async fn a_scheduler_that_cannot_answer() {
    let (away, internal) = (
        "no scheduler is available",
        "the request failed because of an internal error",
    );
    for (failure, status, message) in [
        (Status::unavailable("the database is away"), 503, away),
        (Status::deadline_exceeded("the database is slow"), 503, away),
        (
            Status::internal("database at 10.0.0.7 said no"),
            500,
            internal,
        ),
    ] {
        let tasks = MemoryTasks {
            failure: Some(failure),
            ..three_tasks()
        };
        let stage = Stage::start(tasks).await;
        check(&stage, status, message).await;
    }
}

/// Health, readings and changes have one reason.
#[tokio::test]
async fn each_answer_without_a_scheduler_has_the_reason_of_the_health_check() {
    let waiting = "Consul at consul.example:8500 is unreachable: connection refused";
    let unready = MemoryCluster::new(GetClusterResponse {
        unhealthy: waiting.to_owned(),
        ..GetClusterResponse::default()
    });
    let away = MemoryCluster::failing(Status::unavailable(DATABASE_UNREACHABLE));
    let database = "the database of the schedulers is unreachable";
    for (cluster, failure, reason) in [
        (unready, "not ready", waiting),
        (away.clone(), DATABASE_UNREACHABLE, database),
        (away, "lost", database),
    ] {
        let stage = Stage::set(Scene {
            tasks: MemoryTasks {
                failure: Some(Status::unavailable(failure)),
                ..three_tasks()
            },
            cluster,
            ..Scene::default()
        })
        .await;
        check(&stage, 503, reason).await;
        let health = stage.ask("GET", "/v1/health").await;
        assert!(health.body.contains(reason), "{health:?}");
        let released = stage.ask("POST", "/v1/tasks/dns/release").await;
        assert_eq!(released.status, 503, "{released:?}");
        assert_eq!(released.body, new_error(reason));
    }
}

#[tokio::test]
async fn another_replica_is_asked_once() {
    let tasks = three_tasks();
    let stage = Stage::start(tasks.clone()).await;
    let away = || Status::unavailable("the database is away");
    for path in PATHS {
        tasks.first.lock().unwrap().push_back(away());
        assert_eq!(stage.ask("GET", path).await.status, 200, "{path}");
        tasks.first.lock().unwrap().extend([away(), away()]);
        assert_eq!(stage.ask("GET", path).await.status, 503, "{path}");
        assert!(tasks.first.lock().unwrap().is_empty(), "{path}");
    }
    // An answer is an answer.
    let broken = Status::internal("database at 10.0.0.7 said no");
    tasks.first.lock().unwrap().push_back(broken);
    assert_eq!(stage.ask("GET", "/v1/tasks").await.status, 500);
}

#[tokio::test]
async fn a_scheduler_that_dies_while_it_is_asked() {
    Stage::when_the_scheduler_dies(async |stage| stage.ask("GET", "/v1/tasks/dns").await).await;
}

#[tokio::test]
async fn lists_are_never_not_found() {
    let tasks = MemoryTasks {
        failure: Some(Status::not_found("inner text")),
        ..three_tasks()
    };
    let stage = Stage::start(tasks).await;
    for (path, status) in PATHS.into_iter().zip([500, 500, 404, 500, 404]) {
        let answer = stage.ask("GET", path).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.body.contains("inner text"), "{answer:?}");
    }
}

#[tokio::test]
async fn states_that_break_the_contract() {
    let mut without_status = three_tasks();
    without_status.states[0].status = 0;
    let mut without_time = three_tasks();
    without_time.states[0].events[0].end_time = None;
    for tasks in [without_status, without_time] {
        let stage = Stage::start(tasks).await;
        let answer = stage.ask("GET", "/v1/status/tasks?include=events").await;
        assert_eq!(answer.status, 500);
        assert_eq!(
            answer.body,
            plain_error("the request failed because of an internal error")
        );
    }
}

/// Time until a reading that hangs is refused, because no scheduler is available.
async fn time_to_give_up_with(cluster: MemoryCluster) -> Duration {
    let tasks = MemoryTasks {
        gate: Arc::new(Semaphore::new(0)),
        ..three_tasks()
    };
    let arrivals = Arc::clone(&tasks.arrivals);
    let stage = Stage::set(Scene {
        tasks,
        cluster,
        ..Scene::default()
    })
    .await;
    // From here on only time limits can go on, so the clock jumps to the next one.
    let skip_time = async {
        arrivals.acquire().await.unwrap().forget();
        tokio::time::pause();
        Instant::now()
    };
    let (answer, hung_since) = tokio::join!(stage.ask("GET", "/v1/status"), skip_time);
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body, plain_error("no scheduler is available"));
    hung_since.elapsed()
}

#[tokio::test]
async fn a_reading_is_answered_as_soon_as_the_health_check_has_failed() {
    let took = time_to_give_up_with(MemoryCluster::behind_a_closed_gate()).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_scheduler_that_hangs() {
    let took = time_to_give_up_with(MemoryCluster::default()).await;
    assert!(took >= Duration::from_secs(9));
}
