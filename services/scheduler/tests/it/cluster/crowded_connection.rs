//! Many runs of one worker, whose calls share one connection.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use cts_listen::{ClientLimit, ClientLimiter};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_rpc::admission::AccessRules;
use cts_rpc::{ClientTls, ClientTlsFiles, Endpoints, IdentityFiles, ServerTls, TlsFiles};
use cts_rpc::{connect_tls, convert};
use cts_testkit::Authority;
use futures::future::{Either, join_all, select};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::Channel;

use crate::calls::suspension;
use crate::setup::{Setup, WORKER, instance, task, terraform};

/// Runs of the worker, and those of them that wait for something outside of cts.
const RUNS: usize = 600;
const WAITING: usize = 300;

/// Life of a lease. A worker renews each lease after a third of it.
const LEASE: Duration = Duration::from_mins(1);

/// How long a call waits for what it asks about; longer than the test.
const WAIT: Duration = Duration::from_mins(5);

/// A listener as of a cluster, and a worker with a certificate.
async fn connected(
    endpoints: &Endpoints,
    directory: &Path,
    serving: &mut JoinSet<()>,
) -> RunServiceClient<Channel> {
    let authority = Authority::new();
    let ca_cert = directory.join("ca.pem");
    std::fs::write(&ca_cert, authority.pem()).unwrap();
    let scheduler = ["scheduler.cts.example", "127.0.0.1"];
    let files = authority.write_pair(directory, "scheduler", &scheduler);
    let files = TlsFiles {
        ca_cert: ca_cert.clone(),
        cert: files.cert,
        key: files.key,
        server_name: None,
        verify_incoming: true,
    };
    let tls = ServerTls::load(&files).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let endpoints = endpoints.clone().with_access(AccessRules {
        service_roles: true,
        domain: Some("cts.example".to_owned()),
        ..AccessRules::default()
    });
    let limiter = ClientLimiter::new(ClientLimit {
        total: 1,
        per_client: 1,
    });
    serving.spawn(async move {
        let served = endpoints.serve_tls(listener, limiter, tls, pending());
        served.await.unwrap();
    });
    let files = authority.write_pair(directory, "worker", &["worker.cts.example"]);
    let identity = IdentityFiles {
        cert: files.cert,
        key: files.key,
    };
    let tls = ClientTls::load(ClientTlsFiles {
        ca_cert,
        identity: Some(identity),
        server_name: None,
    });
    let channel = connect_tls(&address.parse().unwrap(), &tls.await.unwrap());
    RunServiceClient::new(channel)
}

async fn acquired(mut runs: RunServiceClient<Channel>, number: usize) -> run::Lease {
    let request = run::AcquireRunRequest {
        kinds: convert::known_kinds(),
        worker_id: WORKER.into(),
        request_id: number.to_string(),
        wait: Some(convert::duration_to_wire(WAIT)),
        capabilities: Some(convert::capabilities_to_wire(&terraform())),
        ..run::AcquireRunRequest::default()
    };
    let answer = runs.acquire_run(request).await.unwrap();
    answer.into_inner().lease.expect("a run becomes due")
}

async fn suspended(
    mut runs: RunServiceClient<Channel>,
    lease: &run::Lease,
    waiting_for: &str,
    wait: Duration,
) -> Result<(), Status> {
    let request = suspension(lease, waiting_for, wait);
    runs.suspend_run(request).await.map(drop)
}

async fn cancelled(mut runs: RunServiceClient<Channel>, lease: &run::Lease) -> Result<(), Status> {
    let request = run::AwaitCancelRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        wait: Some(convert::duration_to_wire(WAIT)),
        known: 0,
    };
    runs.await_cancel(request).await.map(drop)
}

async fn renewed(mut runs: RunServiceClient<Channel>, lease: &run::Lease) {
    let request = run::RenewRunRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        phase: 0,
        phase_for: None,
    };
    runs.renew_run(request).await.unwrap();
}

#[tokio::test]
async fn a_worker_renews_600_leases_of_which_300_wait_over_one_connection() {
    let tasks = (0..RUNS).map(|number| task(&format!("t-{number}")));
    let setup = Setup::new(tasks.collect(), LEASE).await;
    let (directory, mut serving) = (tempfile::tempdir().unwrap(), JoinSet::new());
    let runs = connected(&setup.endpoints, directory.path(), &mut serving).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let leases = (0..RUNS).map(|number| acquired(runs.clone(), number));
    let leases = join_all(leases).await;
    let gated = &leases[..WAITING];
    let begin = gated
        .iter()
        .map(|lease| suspended(runs.clone(), lease, "a person", Duration::ZERO));
    join_all(begin).await.into_iter().for_each(Result::unwrap);

    // The calls that a worker leaves open: about each lease, about each wait, and for a further run.
    let orders = leases.iter().map(|lease| cancelled(runs.clone(), lease));
    let ends = gated
        .iter()
        .map(|lease| suspended(runs.clone(), lease, "", WAIT));
    let further = acquired(runs.clone(), RUNS);
    let open = select(
        Box::pin(select(join_all(orders), join_all(ends))),
        Box::pin(further),
    );
    let renewals = async {
        for _ in 0..2 {
            let renewals = leases.iter().map(|lease| renewed(runs.clone(), lease));
            let renewals = tokio::time::timeout(LEASE / 3, join_all(renewals));
            renewals.await.expect("each lease is renewed in time");
        }
    };
    let first = select(open, Box::pin(renewals)).await;
    assert!(matches!(first, Either::Right(_)), "a call has ended early");
}
