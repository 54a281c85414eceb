//! Records of remote runs, and the budget of requests to their server.

use std::time::Duration;

use cts_core::{Capabilities, Engine, REMOTE_DRIVER};
use cts_proto::run::v1 as run;
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use tonic::{Code, Status};

use crate::calls::{applied, completion, interrupted};
use crate::setup::{Setup, WORKER, instance, task};

/// Longer than the test.
const LONG: Duration = Duration::from_mins(1);

const URL: &str = "https://tfe.example.com/app/network/workspaces/cts-t/runs/run-1";

fn remote_run(status: &str) -> run::RemoteRun {
    run::RemoteRun {
        id: "run-1".into(),
        url: URL.into(),
        status: status.into(),
        waiting_for: "2 other runs".into(),
        ended: false,
        given_up: false,
        abandoned: false,
        verified_moves: Some(1),
        number: 1,
        workspace: Some(run::RemoteWorkspace {
            hostname: "tfe.example.com".into(),
            organization: "network".into(),
            name: "cts-t".into(),
            id: "ws-1".into(),
            project: String::new(),
        }),
        configuration: Some(run::RemoteConfiguration {
            id: "cv-1".into(),
            digest: "0".repeat(64),
        }),
    }
}

async fn record(
    setup: &Setup,
    lease: &run::Lease,
    remote: Option<run::RemoteRun>,
) -> Result<(), Status> {
    let request = run::RecordRemoteRunRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        remote,
    };
    let mut runs = setup.runs.clone();
    runs.record_remote_run(request).await.map(drop)
}

async fn remote_runs(
    setup: &Setup,
    lease: &run::Lease,
) -> Result<run::GetRemoteRunsResponse, Status> {
    let request = run::GetRemoteRunsRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
    };
    let answer = setup.runs.clone().get_remote_runs(request).await?;
    Ok(answer.into_inner())
}

/// Texts of everything that the task waits for.
async fn obstacles(setup: &Setup) -> String {
    let explanation = setup.explained("t").await;
    let obstacles = explanation.obstacles.into_iter();
    obstacles.map(|obstacle| obstacle.text + "\n").collect()
}

#[tokio::test]
async fn a_remote_run_is_recorded_shown_and_found_again() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let none = run::GetRemoteRunsResponse::default();
    assert_eq!(remote_runs(&setup, &first).await.unwrap(), none);
    for refused in [
        None,
        Some(run::RemoteRun {
            configuration: Some(run::RemoteConfiguration::default()),
            ..remote_run("planning")
        }),
    ] {
        let refused = record(&setup, &first, refused).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
    for status in ["pending", "planning", "planning"] {
        let remote = Some(remote_run(status));
        record(&setup, &first, remote.clone()).await.unwrap();
        let shown = setup.run(&first.run_id).await.unwrap();
        assert_eq!(shown.remote_run, remote);
    }
    let obstacles = obstacles(&setup).await;
    let state = format!("run-1 on the server is planning; waits: 2 other runs; {URL}");
    assert!(obstacles.contains(&state), "{obstacles}");

    setup.complete(&first, interrupted()).await.unwrap();
    let second = setup.acquired().await;
    assert_eq!(second.run_id, first.run_id);
    for answer in [
        record(&setup, &first, Some(remote_run("applied"))).await,
        remote_runs(&setup, &first).await.map(drop),
    ] {
        assert_eq!(answer.unwrap_err().code(), Code::FailedPrecondition);
    }
    let kept = Some(remote_run("planning"));
    let expected = run::GetRemoteRunsResponse {
        own: kept.clone(),
        newest_run_id: first.run_id.clone(),
        newest: kept.clone(),
    };
    assert_eq!(remote_runs(&setup, &second).await.unwrap(), expected);

    let completed = run::CompleteRunRequest {
        details: Some(run::RunDetails {
            remote_url: URL.into(),
            ..run::RunDetails::default()
        }),
        ..completion(&second, applied())
    };
    setup.runs.clone().complete_run(completed).await.unwrap();
    let listed = run::ListRunsRequest::default();
    let listed = setup.runs.clone().list_runs(listed).await.unwrap();
    let listed = listed.into_inner().runs;
    assert_eq!(listed[0].remote_run, kept);
    assert_eq!(listed[0].details.as_ref().unwrap().remote_url, URL);
    let events = setup.state("t").await.events;
    assert_eq!(events[0].remote_url, URL);
}

async fn budget(setup: &Setup, id: &str, driver: &str) -> u32 {
    let worker = worker::Worker {
        id: id.into(),
        host: "h".into(),
        version: "1".into(),
        slots: 10,
        capabilities: Some(worker::Capabilities {
            engines: vec![worker::Engine {
                driver: driver.into(),
                version: "1".into(),
            }],
            bundles: false,
        }),
        ..worker::Worker::default()
    };
    setup.heartbeat(worker).await.remote_requests_per_minute
}

#[tokio::test]
async fn workers_with_the_remote_driver_share_the_requests() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    assert_eq!(budget(&setup, "local", "terraform").await, 0);
    assert_eq!(budget(&setup, WORKER, REMOTE_DRIVER).await, 1200);
    assert_eq!(budget(&setup, "other", REMOTE_DRIVER).await, 600);
    assert_eq!(budget(&setup, WORKER, REMOTE_DRIVER).await, 600);
    setup.watcher.show(vec![instance("w", 1)]);
    setup.acquired().await;
    let (busy, idle) = (
        budget(&setup, WORKER, REMOTE_DRIVER).await,
        budget(&setup, "other", REMOTE_DRIVER).await,
    );
    assert!(busy > idle && busy + idle <= 1200, "{busy} and {idle}");
    assert_eq!(budget(&setup, "local", "terraform").await, 0);
}

/// Asks for a run as a worker with both drivers, at once or for long.
async fn acquire(setup: &Setup, ends_remote_runs: bool, waits: bool) -> Option<run::Lease> {
    let engines = ["terraform", REMOTE_DRIVER].map(|driver| Engine {
        driver: driver.to_owned(),
        version: "1.9.8".to_owned(),
    });
    let capabilities = Capabilities {
        engines: engines.to_vec(),
        bundles: true,
    };
    let wait = if waits { LONG } else { Duration::ZERO };
    let request = run::AcquireRunRequest {
        worker_id: WORKER.into(),
        wait: Some(convert::duration_to_wire(wait)),
        capabilities: Some(convert::capabilities_to_wire(&capabilities)),
        kinds: convert::known_kinds(),
        request_id: "2".into(),
        ends_remote_runs,
        ..run::AcquireRunRequest::default()
    };
    let answer = setup.runs.clone().acquire_run(request).await.unwrap();
    answer.into_inner().lease
}

#[tokio::test]
async fn a_worker_that_announces_it_ends_the_remote_run_of_a_cancelled_queued_run() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let remote = run::RemoteRun {
        waiting_for: String::new(),
        ..remote_run("planning")
    };
    record(&setup, &first, Some(remote.clone())).await.unwrap();
    setup.complete(&first, interrupted()).await.unwrap();
    let cancel = async || {
        let request = run::CancelRunRequest {
            run_id: first.run_id.clone(),
            force: false,
            visible_tasks: Vec::new(),
        };
        let answer = setup.runs.clone().cancel_run(request).await.unwrap();
        answer.into_inner().run.unwrap()
    };
    let cancelled = cancel().await;
    assert_eq!(cancelled.status(), run::RunStatus::Running);
    let said = format!("the remote run {URL} is being ended");
    let waits = &cancelled.waiting_for;
    assert!(
        waits.contains(&said) && waits.contains("no worker"),
        "{waits}"
    );
    let obstacles = obstacles(&setup).await;
    assert!(
        obstacles.contains(&said) && obstacles.contains("no worker"),
        "{obstacles}"
    );

    assert_eq!(
        acquire(&setup, false, false).await,
        None,
        "an earlier worker"
    );
    let lease = acquire(&setup, true, false).await.expect("a run is to end");
    assert!(lease.ends_remote_run);
    assert_eq!((&lease.run_id, lease.attempt), (&first.run_id, 1));
    // Its worker leaves; one that waits is woken.
    let (next, again) = tokio::join!(acquire(&setup, true, true), async {
        setup.complete(&lease, interrupted()).await.unwrap()
    });
    assert_eq!(again, run::RunStatus::Running);
    let next = next.expect("it is woken");
    assert_eq!(next.run_id, first.run_id);
    let ended = run::RemoteRun {
        ended: true,
        status: "canceled".into(),
        ..remote
    };
    record(&setup, &next, Some(ended)).await.unwrap();
    let end = setup.complete(&next, interrupted()).await.unwrap();
    assert_eq!(end, run::RunStatus::Failed);
}
