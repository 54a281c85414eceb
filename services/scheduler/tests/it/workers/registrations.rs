//! Ids of workers belong to the processes that registered them.

use std::sync::Arc;
use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use cts_scheduler::{Options, Sharing};
use cts_store::{Store, WorkerStore as _};
use cts_testkit::assert_contains;
use tonic::{Code, Status};

use crate::faulty_store::{Fault, FaultyStore};
use crate::setup::{Setup, WORKER, instance, member, no_blocks, store_in, task, terraform};

const LONG: Duration = Duration::from_secs(30);
const OWN: [u8; 32] = [1; 32];
const OTHER: [u8; 32] = [2; 32];
const EVER: Duration = Duration::from_hours(24);

/// A scheduler with a run that waits for a worker.
async fn waiting(store: Arc<impl Store + 'static>, required: bool) -> Setup {
    let options = Options {
        lease: LONG,
        requires_proofs: required,
        sharing: Sharing::Shared,
        ..Options::alone(vec![task("t")], member())
    };
    let setup = Setup::over(store, options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
}

/// A heartbeat of a worker with this registration, or none.
fn beat(id: &str, registration: &[u8]) -> worker::HeartbeatRequest {
    worker::HeartbeatRequest {
        worker: Some(worker::Worker {
            id: id.into(),
            slots: 1,
            settings: Some(no_blocks()),
            ..worker::Worker::default()
        }),
        registration: registration.to_vec(),
        ..worker::HeartbeatRequest::default()
    }
}

async fn send(setup: &Setup, request: worker::HeartbeatRequest) -> Result<Vec<u8>, Status> {
    let answer = setup.workers.clone().heartbeat(request).await?;
    Ok(answer.into_inner().registration_secret)
}

async fn register(setup: &Setup, id: &str, registration: [u8; 32]) -> Vec<u8> {
    send(setup, beat(id, &registration)).await.unwrap()
}

/// A call for a run of a worker that reports its settings.
fn call(id: &str, secret: &[u8]) -> run::AcquireRunRequest {
    run::AcquireRunRequest {
        kinds: convert::known_kinds(),
        worker_id: id.into(),
        request_id: "1".into(),
        wait: Some(convert::duration_to_wire(Duration::from_secs(20))),
        capabilities: Some(convert::capabilities_to_wire(&terraform())),
        reports_settings: true,
        registration_secret: secret.to_vec(),
        ..run::AcquireRunRequest::default()
    }
}

async fn acquire(setup: &Setup, call: run::AcquireRunRequest) -> Result<run::Lease, Status> {
    let answer = setup.runs.clone().acquire_run(call).await?;
    Ok(answer.into_inner().lease.expect("a run waits"))
}

async fn assert_gets_no_run(setup: &Setup, call: run::AcquireRunRequest, reason: &str) {
    let refused = acquire(setup, call).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    assert_contains(refused.message(), [reason]);
}

const UNREGISTERED: &str = "not registered by a heartbeat";
const NO_SECRET: &str = "does not have the secret";

#[tokio::test]
async fn with_service_roles_only_registered_workers_get_leases() {
    let directory = tempfile::tempdir().unwrap();
    let setup = waiting(store_in(directory.path()).await, true).await;
    assert_gets_no_run(&setup, call("invented", &[]), UNREGISTERED).await;
    assert_gets_no_run(&setup, call("invented", &OWN), UNREGISTERED).await;
    let secret = register(&setup, "w", OWN).await;
    assert_eq!(secret.len(), 32);
    let of_another = register(&setup, "v", OWN).await;
    assert_ne!(secret, of_another);
    for wrong in [&[][..], &secret[1..], &OWN, &of_another] {
        assert_gets_no_run(&setup, call("w", wrong), NO_SECRET).await;
    }
    assert_gets_no_run(&setup, call("invented", &secret), UNREGISTERED).await;
    let without_settings = run::AcquireRunRequest {
        reports_settings: false,
        ..call("w", &secret)
    };
    assert_gets_no_run(&setup, without_settings, "does not report its settings").await;
    let lease = acquire(&setup, call("w", &secret)).await.unwrap();
    assert_eq!(lease.task_name, "t");
}

#[tokio::test]
async fn a_worker_without_registration_gets_runs_unless_roles_are_required() {
    for required in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let setup = waiting(store_in(directory.path()).await, required).await;
        let secret = send(&setup, beat("earlier", &[])).await.unwrap();
        assert!(secret.is_empty());
        if required {
            assert_gets_no_run(&setup, call("earlier", &[]), UNREGISTERED).await;
        } else {
            acquire(&setup, call("earlier", &[])).await.unwrap();
        }
        let left = worker::HeartbeatRequest {
            leaving: true,
            ..beat("earlier", &[])
        };
        send(&setup, left).await.unwrap();
    }
}

#[tokio::test]
async fn without_service_roles_an_id_with_a_registration_needs_its_secret() {
    let directory = tempfile::tempdir().unwrap();
    let setup = waiting(store_in(directory.path()).await, false).await;
    register(&setup, "w", OWN).await;
    assert_gets_no_run(&setup, call("w", &[]), NO_SECRET).await;
    let without_settings = run::AcquireRunRequest {
        reports_settings: false,
        ..call("invented", &[])
    };
    acquire(&setup, without_settings).await.unwrap();
}

#[tokio::test]
async fn a_heartbeat_whose_answer_is_lost_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let store = FaultyStore::over(store_in(directory.path()).await);
    let setup = waiting(Arc::clone(&store), true).await;
    store.fail("record_heartbeat", &[Fault::AnswerLost]);
    let lost = send(&setup, beat("w", &OWN)).await.unwrap_err();
    assert_eq!(lost.code(), Code::Unavailable);
    let secret = register(&setup, "w", OWN).await;
    assert_eq!(register(&setup, "w", OWN).await, secret);
    acquire(&setup, call("w", &secret)).await.unwrap();
}

#[tokio::test]
async fn another_process_can_neither_beat_nor_drain_nor_leave_for_a_worker() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let setup = waiting(Arc::clone(&store), false).await;
    let secret = register(&setup, WORKER, OWN).await;
    let lease = acquire(&setup, call(WORKER, &secret)).await.unwrap();
    let before = store.workers(EVER).await.unwrap();
    for registration in [&OTHER[..], &[]] {
        let plain = beat(WORKER, registration);
        let mut draining = plain.clone();
        draining.worker.as_mut().unwrap().draining = true;
        let leaving = worker::HeartbeatRequest {
            leaving: true,
            ..plain.clone()
        };
        // The call that has the lease.
        let gives_back = worker::HeartbeatRequest {
            unanswered_requests: vec!["1".into()],
            ..plain.clone()
        };
        let journal = worker::HeartbeatRequest {
            journal: Some(worker::WorkerJournal::default()),
            ..plain.clone()
        };
        let leaving_with_runs = worker::HeartbeatRequest {
            leaving: true,
            ..gives_back.clone()
        };
        for request in [
            plain,
            draining,
            leaving,
            gives_back,
            journal,
            leaving_with_runs,
        ] {
            let refused = send(&setup, request).await.unwrap_err();
            assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
            assert_contains(
                refused.message(),
                ["belongs to a process", "start it again"],
            );
        }
    }
    let after = store.workers(EVER).await.unwrap();
    assert_eq!(
        (after.len(), &after[0].worker, after[0].running),
        (1, &before[0].worker, 1)
    );
    setup.applied(&lease).await;
}

#[tokio::test]
async fn an_id_is_free_when_its_worker_has_left() {
    let directory = tempfile::tempdir().unwrap();
    let setup = waiting(store_in(directory.path()).await, true).await;
    let first = register(&setup, "w", OWN).await;
    assert!(send(&setup, beat("w", &OTHER)).await.is_err());
    let leaving = worker::HeartbeatRequest {
        leaving: true,
        ..beat("w", &OWN)
    };
    send(&setup, leaving.clone()).await.unwrap();
    // Repeated, as after a lost answer.
    send(&setup, leaving).await.unwrap();
    assert_gets_no_run(&setup, call("w", &first), UNREGISTERED).await;
    let second = register(&setup, "w", OTHER).await;
    assert_gets_no_run(&setup, call("w", &first), NO_SECRET).await;
    assert!(send(&setup, beat("w", &OWN)).await.is_err());
    acquire(&setup, call("w", &second)).await.unwrap();
}

#[tokio::test]
async fn every_scheduler_of_a_store_knows_the_registrations() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let first = waiting(Arc::clone(&store), true).await;
    let secret = register(&first, "w", OWN).await;
    drop(first);
    let second = waiting(store, true).await;
    // The new leader may need time to queue a run.
    let at_once = run::AcquireRunRequest {
        wait: None,
        ..call("w", &secret)
    };
    let admitted = second.runs.clone().acquire_run(at_once).await;
    admitted.unwrap();
    assert_eq!(register(&second, "w", OWN).await, secret);
    assert!(send(&second, beat("w", &OTHER)).await.is_err());
}

#[tokio::test]
async fn a_worker_goes_on_with_a_new_database() {
    let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let first = waiting(store_in(directories[0].path()).await, true).await;
    let stale = register(&first, "w", OWN).await;
    let second = waiting(store_in(directories[1].path()).await, true).await;
    assert_gets_no_run(&second, call("w", &stale), UNREGISTERED).await;
    let secret = register(&second, "w", OWN).await;
    assert_gets_no_run(&second, call("w", &stale), NO_SECRET).await;
    acquire(&second, call("w", &secret)).await.unwrap();
}

#[tokio::test]
async fn a_worker_that_was_noted_without_registration_registers_later() {
    let directory = tempfile::tempdir().unwrap();
    let setup = waiting(store_in(directory.path()).await, true).await;
    send(&setup, beat("w", &[])).await.unwrap();
    let secret = register(&setup, "w", OWN).await;
    assert!(send(&setup, beat("w", &[])).await.is_err());
    assert_gets_no_run(&setup, call("w", &[]), NO_SECRET).await;
    acquire(&setup, call("w", &secret)).await.unwrap();
}

#[tokio::test]
async fn other_bytes_are_no_registration() {
    let directory = tempfile::tempdir().unwrap();
    let setup = waiting(store_in(directory.path()).await, false).await;
    for bytes in [&OWN[1..], &[3; 33]] {
        let refused = send(&setup, beat("w", bytes)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
}
