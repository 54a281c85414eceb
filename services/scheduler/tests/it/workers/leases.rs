//! The way of a change to a leased run, and the lease protocol.

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::worker::v1 as worker;
use tonic::{Code, Status};

use crate::calls::{applied, interrupted, suspension};
use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_waiting_worker_gets_the_run_of_a_change_with_its_input() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    let (lease, ()) = tokio::join!(setup.acquired(), async {
        setup.watcher.show(vec![instance("w", 1)]);
    });
    assert_eq!(
        (lease.task_name.as_str(), lease.epoch, lease.attempt),
        ("t", 1, 1)
    );
    let input = setup.input(&lease).await;
    assert_eq!(input.services[0].port, 1);
    setup.applied(&lease).await;

    setup.watcher.show(vec![instance("w", 2)]);
    let lease = setup.acquired().await;
    assert_eq!(setup.input(&lease).await.services[0].port, 2);
}

#[tokio::test]
async fn an_unchanged_snapshot_runs_nothing_also_from_a_new_watcher() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.applied(&setup.acquired().await).await;
    setup.watcher.restart();
    assert!(setup.acquire(SHORT).await.is_none());
    setup.watcher.show(vec![instance("w", 3)]);
    assert_eq!(
        setup.input(&setup.acquired().await).await.services[0].port,
        3
    );
}

#[tokio::test]
async fn changes_during_a_run_end_in_one_more_with_the_newest_input() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    for port in 2..6 {
        setup.watcher.show(vec![instance("w", port)]);
    }
    assert!(
        setup.acquire(SHORT).await.is_none(),
        "one run of a task at a time"
    );
    setup.applied(&lease).await;
    let lease = setup.acquired().await;
    assert_eq!(setup.input(&lease).await.services[0].port, 5);
    setup.applied(&lease).await;
    assert!(setup.acquire(SHORT).await.is_none());
}

#[tokio::test]
async fn a_stale_epoch_is_refused_everywhere() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let old = setup.acquired().await;
    setup.complete(&old, interrupted()).await.unwrap();
    let new = setup.acquired().await;
    assert_eq!(new.epoch, old.epoch + 1);

    let refused = |answer: Result<(), Status>| {
        assert_eq!(answer.unwrap_err().code(), Code::FailedPrecondition);
    };
    refused(setup.renew(&old).await);
    refused(setup.complete(&old, applied()).await.map(drop));
    let suspended = suspension(&old, "you", Duration::ZERO);
    refused(setup.runs.clone().suspend_run(suspended).await.map(drop));
    let batch = cts_proto::log::v1::AppendLogRequest {
        run_id: old.run_id.clone(),
        epoch: old.epoch,
        worker_id: WORKER.into(),
        lines: vec![cts_proto::log::v1::LogLine {
            stream: 1,
            text: "late".into(),
        }],
    };
    let mut logs = setup.logs.clone();
    refused(logs.append_log(tokio_stream::once(batch)).await.map(drop));
    setup.applied(&new).await;
}

#[tokio::test]
async fn a_silent_worker_loses_its_run_and_a_renewed_lease_stays() {
    let setup = Setup::new(vec![task("t")], Duration::from_secs(2)).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    for _ in 0..4 {
        assert!(setup.acquire(Duration::from_millis(700)).await.is_none());
        setup.renew(&lease).await.unwrap();
    }
    let again = setup.acquired().await;
    assert_eq!(
        (&again.run_id, again.attempt),
        (&lease.run_id, 2),
        "the lost attempt counts"
    );
    assert!(again.epoch > lease.epoch);
}

#[tokio::test]
async fn senseless_requests_are_refused() {
    let setup = Setup::new(vec![], LONG).await;
    let mut runs = setup.runs.clone();
    let nameless = run::AcquireRunRequest::default();
    assert_eq!(
        runs.acquire_run(nameless).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    let run = "00000000-0000-7000-8000-000000000001";
    for (run_id, worker_id) in [("x", WORKER), (run, "")] {
        let renewal = run::RenewRunRequest {
            run_id: run_id.into(),
            epoch: 1,
            worker_id: worker_id.into(),
            ..run::RenewRunRequest::default()
        };
        assert_eq!(
            runs.renew_run(renewal).await.unwrap_err().code(),
            Code::InvalidArgument
        );
    }
    let input = run::GetRunInputRequest {
        input_hash: "ab".repeat(32),
    };
    assert_eq!(
        runs.get_run_input(input).await.unwrap_err().code(),
        Code::NotFound
    );
    for (hashes, code) in [
        (vec!["ab".repeat(32)], Code::NotFound),
        (vec!["x".to_owned()], Code::InvalidArgument),
        (vec!["ab".repeat(32); 1025], Code::InvalidArgument),
    ] {
        let contents = run::GetInputContentsRequest { hashes };
        let answer = match runs.get_input_contents(contents).await {
            Ok(answer) => answer.into_inner().message().await.map(drop),
            Err(status) => Err(status),
        };
        assert_eq!(answer.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn an_input_comes_by_its_contents_which_inputs_of_one_view_have_in_common() {
    let setup = Setup::new(vec![task("s"), task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let leases = [setup.acquired().await, setup.acquired().await];
    let [first, second] = &leases;
    assert_eq!(first.contents.len(), 2);
    assert_ne!(first.contents[0], second.contents[0]);
    assert_eq!(first.contents[1], second.contents[1]);
    for lease in &leases {
        let mut runs = setup.runs.clone();
        let request = run::GetRunInputRequest {
            input_hash: lease.input_hash.clone(),
        };
        let answer = runs.get_run_input(request).await.unwrap();
        let named = answer.into_inner().message().await.unwrap().unwrap();
        let carried = lease.contents.iter().map(|content| content.hash.clone());
        assert_eq!(named.content_hashes, carried.collect::<Vec<_>>());
        let request = run::GetInputContentsRequest {
            hashes: named.content_hashes,
        };
        let mut parts = runs.get_input_contents(request).await.unwrap().into_inner();
        for content in &lease.contents {
            let part = parts.message().await.unwrap().unwrap();
            assert_eq!(part.hash, content.hash);
            assert_eq!(Some(part.chunk), content.content);
        }
        assert_eq!(parts.message().await.unwrap(), None);
        assert_eq!(setup.input(lease).await.services[0].port, 1);
    }
}

#[tokio::test]
async fn heartbeat_requeues_the_run_of_a_lost_answer() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lost = setup.acquired().await;
    let heartbeat = async |unanswered: &str| {
        let request = worker::HeartbeatRequest {
            worker: Some(worker::Worker {
                id: WORKER.into(),
                slots: 1,
                capabilities: Some(worker::Capabilities::default()),
                ..worker::Worker::default()
            }),
            unanswered_requests: vec![unanswered.into()],
            ..worker::HeartbeatRequest::default()
        };
        setup.workers.clone().heartbeat(request).await.unwrap();
    };
    heartbeat("another").await;
    assert!(setup.acquire(SHORT).await.is_none());
    // All calls of the setup have this name.
    heartbeat("1").await;
    let lease = setup.acquire(SHORT).await.unwrap();
    assert_eq!((lease.run_id, lease.epoch), (lost.run_id, lost.epoch + 1));
    assert_eq!(
        lease.attempt, 1,
        "an attempt that never began does not count"
    );
}
