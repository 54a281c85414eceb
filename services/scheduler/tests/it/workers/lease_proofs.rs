//! Workers speak for the runs that they hold, and for no other.

use std::time::Duration;

use cts_proto::bundle::v1::GetBundleRequest;
use cts_proto::log::v1::AppendLogRequest;
use cts_proto::run::v1 as run;
use cts_rpc::admission::{LEASE_METADATA, with_lease_proof};
use cts_scheduler::Options;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Response, Status};

use crate::setup::{Setup, WORKER, instance, member, store_in, task};

const LONG: Duration = Duration::from_secs(30);

/// A scheduler of two tasks with one service, and a lease of each.
async fn leased(required: bool) -> (Setup, [run::Lease; 2]) {
    let options = Options {
        lease: LONG,
        requires_proofs: required,
        ..Options::alone(vec![task("s"), task("t")], member())
    };
    let setup = Setup::with(options).await;
    setup.register().await;
    setup.watcher.show(vec![instance("w", 1)]);
    let leases = [setup.acquired().await, setup.acquired().await];
    (setup, leases)
}

fn proof(lease: &run::Lease) -> run::LeaseProof {
    run::LeaseProof {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        secret: lease.secret.clone(),
    }
}

/// A proof that is not sent.
fn nothing() -> run::LeaseProof {
    run::LeaseProof::default()
}

/// Makes every call for the run of `lease`, its end last, and returns the refused ones.
async fn refused(setup: &Setup, lease: &run::Lease, proof: &run::LeaseProof) -> Vec<&'static str> {
    let (run_id, epoch) = (lease.run_id.clone(), lease.epoch);
    let worker_id = WORKER.to_owned();
    let mut refused = Vec::new();
    macro_rules! make {
        ($client:ident.$call:ident($message:expr)) => {
            let request = with_lease_proof($message, proof);
            let answer = setup.$client.clone().$call(request).await;
            if is_refused(answer) {
                refused.push(stringify!($call));
            }
        };
        (runs.$call:ident: $request:ident { $($field:ident: $value:expr),* }) => {
            make!(runs.$call(run::$request {
                run_id: run_id.clone(),
                epoch,
                worker_id: worker_id.clone(),
                $($field: $value,)*
            }))
        };
    }
    make!(runs.renew_run: RenewRunRequest { phase: 0, phase_for: None });
    make!(runs.suspend_run: SuspendRunRequest { number: 1, waiting_for: "you".into(), wait: None });
    make!(runs.resume_run: ResumeRunRequest { number: 1 });
    make!(runs.await_cancel: AwaitCancelRequest { wait: None, known: 0 });
    let report = run::record_state_request::Report::Conflict(run::StateConflict::default());
    make!(runs.record_state: RecordStateRequest { report: Some(report) });
    let remote = run::RemoteRun::default();
    make!(runs.record_remote_run: RecordRemoteRunRequest { remote: Some(remote) });
    make!(runs.get_remote_runs: GetRemoteRunsRequest {});
    make!(runs.list_lost_leases(run::ListLostLeasesRequest {
        run_id: run_id.clone()
    }));
    make!(runs.get_run_input(run::GetRunInputRequest {
        input_hash: lease.input_hash.clone()
    }));
    let hashes = lease
        .contents
        .iter()
        .map(|content| content.hash.clone())
        .collect();
    make!(runs.get_input_contents(run::GetInputContentsRequest { hashes }));
    make!(plans.record_plan(run::RecordPlanRequest {
        run_id: run_id.clone(),
        epoch,
        worker_id: worker_id.clone(),
        content: Vec::new(),
    }));
    let batch = AppendLogRequest {
        run_id: run_id.clone(),
        epoch,
        worker_id: worker_id.clone(),
        lines: Vec::new(),
    };
    make!(logs.append_log(tokio_stream::once(batch)));
    let applied = run::complete_run_request::Outcome::Applied(run::Applied {});
    make!(runs.complete_run: CompleteRunRequest { outcome: Some(applied), log: Vec::new(), details: None, state: None, held_for: None });
    refused
}

fn is_refused<T>(answer: Result<Response<T>, Status>) -> bool {
    answer.is_err_and(|status| status.code() == Code::PermissionDenied)
}

const CALLS: usize = 13;

#[tokio::test]
async fn a_proof_is_that_of_the_run_that_is_called_for() {
    let (setup, [one, other]) = leased(false).await;
    assert_eq!(one.secret.len(), 32);
    assert_ne!(one.secret, other.secret);
    let wrong = run::LeaseProof {
        secret: vec![7; 32],
        ..proof(&one)
    };
    let earlier = run::LeaseProof {
        epoch: one.epoch + 1,
        ..proof(&one)
    };
    let stranger = run::LeaseProof {
        worker_id: "stranger".into(),
        ..proof(&one)
    };
    for proof in [wrong, earlier, stranger, proof(&other)] {
        let refused = refused(&setup, &one, &proof).await;
        // The contents of both inputs are in part the same.
        assert_eq!(refused.len(), CALLS, "{proof:?}: {refused:?}");
    }
    assert_eq!(refused(&setup, &one, &proof(&one)).await, [""; 0]);
}

#[tokio::test]
async fn calls_without_a_proof_pass_until_proofs_are_required() {
    let (setup, [one, _]) = leased(false).await;
    assert_eq!(refused(&setup, &one, &nothing()).await, [""; 0]);
    let (setup, [one, _]) = leased(true).await;
    assert_eq!(refused(&setup, &one, &nothing()).await.len(), CALLS);
    assert_eq!(refused(&setup, &one, &proof(&one)).await, [""; 0]);
}

#[tokio::test]
async fn a_lease_that_is_over_opens_no_input() {
    let (setup, [one, _]) = leased(true).await;
    let input = || run::GetRunInputRequest {
        input_hash: one.input_hash.clone(),
    };
    let request = with_lease_proof(input(), &proof(&one));
    setup.runs.clone().get_run_input(request).await.unwrap();
    assert_eq!(refused(&setup, &one, &proof(&one)).await, [""; 0]);
    let request = with_lease_proof(input(), &proof(&one));
    let over = setup.runs.clone().get_run_input(request).await;
    assert_eq!(over.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_bundle_that_the_task_does_not_have_is_refused() {
    let (setup, [one, _]) = leased(true).await;
    let bundle = GetBundleRequest {
        hash: "ab".repeat(32),
    };
    for proof in [nothing(), proof(&one)] {
        let request = with_lease_proof(bundle.clone(), &proof);
        assert!(is_refused(setup.bundles.clone().get_bundle(request).await));
    }
}

#[tokio::test]
async fn refuses_unreadable_proofs() {
    let (setup, [one, _]) = leased(false).await;
    let mut request = Request::new(run::RenewRunRequest {
        run_id: one.run_id.clone(),
        epoch: one.epoch,
        worker_id: WORKER.into(),
        ..run::RenewRunRequest::default()
    });
    let value = MetadataValue::from_bytes(b"\xff\xff");
    request.metadata_mut().insert_bin(LEASE_METADATA, value);
    let answer = setup.runs.clone().renew_run(request).await;
    assert_eq!(answer.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn every_scheduler_of_a_store_knows_the_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = || Options {
        lease: LONG,
        requires_proofs: true,
        sharing: cts_scheduler::Sharing::Shared,
        ..Options::alone(vec![task("t")], member())
    };
    let first = Setup::over(std::sync::Arc::clone(&store), options()).await;
    first.register().await;
    first.watcher.show(vec![instance("w", 1)]);
    let lease = first.acquired().await;
    drop(first);
    let second = Setup::over(store, options()).await;
    assert_eq!(refused(&second, &lease, &proof(&lease)).await, [""; 0]);
}
