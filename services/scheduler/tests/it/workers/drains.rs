//! Workers that drain while calls wait for runs.

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use cts_scheduler::Options;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::faulty_store::FaultyStore;
use crate::setup::{Setup, member, task};

const WORKERS: usize = 100;
const CALLS_OF_ONE: usize = 10;
const SOON: Duration = Duration::from_secs(10);

fn id(number: usize) -> String {
    format!("worker-{number}")
}

async fn heartbeat(setup: &Setup, number: usize, draining: bool) {
    let worker = worker::Worker {
        id: id(number),
        host: "h".into(),
        version: "1".into(),
        slots: 10,
        capabilities: Some(worker::Capabilities::default()),
        draining,
        settings: None,
        problem: None,
    };
    setup.heartbeat(worker).await;
}

/// Calls that wait for runs while no run exists; each returns the number of its worker when it is answered.
async fn waiting_calls(setup: &Setup, store: &FaultyStore) -> JoinSet<usize> {
    let mut calls = JoinSet::new();
    for number in 0..WORKERS {
        heartbeat(setup, number, false).await;
        for call in 0..CALLS_OF_ONE {
            let request = run::AcquireRunRequest {
                kinds: convert::known_kinds(),
                worker_id: id(number),
                request_id: call.to_string(),
                wait: Some(convert::duration_to_wire(Duration::from_mins(1))),
                capabilities: Some(worker::Capabilities::default()),
                reports_settings: false,
                names_previous_backend: false,
                ends_remote_runs: false,
                asks_permission: true,
                registration_secret: Vec::new(),
            };
            let mut runs = setup.runs.clone();
            calls.spawn(async move {
                let answer = runs.acquire_run(request).await.unwrap();
                assert_eq!(answer.into_inner().lease, None);
                number
            });
        }
    }
    setup
        .until_so(async |_| store.calls("acquire") >= WORKERS * CALLS_OF_ONE)
        .await;
    calls
}

async fn all_of(number: usize, calls: &mut JoinSet<usize>) {
    for _ in 0..CALLS_OF_ONE {
        let ended = timeout(SOON, calls.join_next()).await;
        let ended = ended.expect("a call of a draining worker ends").unwrap();
        assert_eq!(ended.unwrap(), number);
    }
}

#[tokio::test]
async fn a_worker_that_drains_ends_its_own_calls_only() {
    let options = Options::alone(vec![task("t")], member());
    let (setup, store) = Setup::faulty(options).await;
    let mut calls = waiting_calls(&setup, &store).await;
    let looks = || store.calls("workers") + store.calls("acquire");
    let before = looks();

    let request = worker::DrainWorkerRequest { worker_id: id(7) };
    setup.workers.clone().drain_worker(request).await.unwrap();
    all_of(7, &mut calls).await;
    heartbeat(&setup, 8, true).await;
    all_of(8, &mut calls).await;
    assert_eq!(calls.len(), (WORKERS - 2) * CALLS_OF_ONE);
    let looks = looks() - before;
    assert!(looks <= 10, "{looks}");
}
