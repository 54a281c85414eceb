//! Tokens, and the records of calls (docs/access.md#audit).

mod sessions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{Caller, CallerKind, Role};
use cts_proto::access::v1 as access;
use cts_proto::run::v1 as run;
use cts_proto::task::v1 as task;
use cts_proto::worker::v1 as worker;
use cts_rpc::admission::{CALLER_METADATA, CallContext};
use cts_runtime::SystemClock;
use cts_scheduler::{Audit, Options};
use cts_store::{AccessStore as _, NewStoredToken};
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tonic::{Code, Request};

use crate::faulty_store::Fault;
use crate::setup::{Setup, member, store_in};

const LIMIT: Duration = Duration::from_secs(20);

/// A call as a gateway makes it for the token `ci`.
fn by_ci<T>(message: T) -> Request<T> {
    let caller = Caller::new(CallerKind::Token, "ci", "10.0.0.1".parse().ok());
    let context = CallContext {
        caller,
        request_id: "r-1".to_owned(),
    };
    let mut request = Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert_bin(CALLER_METADATA, context.to_metadata());
    request
}

async fn records(setup: &Setup) -> Vec<access::AuditRecord> {
    let request = access::ListAuditRecordsRequest::default();
    let answer = setup.access.clone().list_audit_records(request).await;
    let mut records = answer.unwrap().into_inner().records;
    records.reverse();
    records
}

fn disable(name: &str) -> task::UpdateTaskRequest {
    task::UpdateTaskRequest {
        name: name.to_owned(),
        enabled: Some(false),
        ..task::UpdateTaskRequest::default()
    }
}

#[tokio::test]
async fn calls_are_recorded_with_caller_arguments_and_outcome() {
    let setup = Setup::new(vec![crate::setup::task("web")], LIMIT).await;
    let mut tasks = setup.tasks.clone();
    tasks.update_task(by_ci(disable("web"))).await.unwrap();
    let unknown = tasks.update_task(by_ci(disable("unknown"))).await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
    let cancelled = run::CancelRunRequest {
        run_id: "0198c1f0-0000-7000-8000-000000000001".to_owned(),
        force: true,
        visible_tasks: Vec::new(),
    };
    let cancelled = setup.runs.clone().cancel_run(by_ci(cancelled)).await;
    assert_eq!(cancelled.unwrap_err().code(), Code::NotFound);
    let drain = worker::DrainWorkerRequest {
        worker_id: "gone".to_owned(),
    };
    let drained = setup.workers.clone().drain_worker(drain).await;
    assert_eq!(drained.unwrap_err().code(), Code::NotFound);
    let records = records(&setup).await;
    let shown: Vec<_> = records
        .iter()
        .map(|it| (&*it.action, &*it.target, &*it.caller, &*it.outcome))
        .collect();
    let expected = [
        ("task.update", "web", "ci", "done"),
        ("task.update", "unknown", "ci", "refused"),
        (
            "run.cancel",
            "0198c1f0-0000-7000-8000-000000000001",
            "ci",
            "refused",
        ),
        ("worker.drain", "gone", "", "refused"),
    ];
    assert_eq!(shown, expected);
    let first = &records[0];
    assert_eq!(
        (&*first.caller_kind, &*first.address),
        ("token", "10.0.0.1")
    );
    assert_eq!((&*first.request_id, first.number), ("r-1", 1));
    assert_eq!(first.arguments["enabled"], "false");
    assert_eq!(records[2].arguments["force"], "true");
    assert_eq!(records[3].caller_kind, "anonymous");
    assert!(records[1].reason.contains("no task"), "{:?}", records[1]);
}

#[tokio::test]
async fn values_of_variables_are_in_no_record() {
    let setup = Setup::new(Vec::new(), LIMIT).await;
    let declared = task::Task {
        name: "web".to_owned(),
        module: "git::https://user:s3cret@git.example/m".to_owned(),
        variables: [("password".to_owned(), "\"s3cret\"".to_owned())].into(),
        ..task::Task::default()
    };
    let created = task::CreateTaskRequest {
        task: Some(declared),
        ..task::CreateTaskRequest::default()
    };
    let mut tasks = setup.tasks.clone();
    let recorded = async {
        loop {
            let records = records(&setup).await;
            if !records.is_empty() {
                return records;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    // The creation waits for its run.
    let records = tokio::select! {
        created = tasks.create_task(by_ci(created)) => panic!("{created:?}"),
        records = timeout(LIMIT, recorded) => records.unwrap(),
    };
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].arguments["variables"], "password");
    let text = format!("{records:?}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn a_change_that_cannot_be_recorded_is_not_made() {
    let options = Options::alone(vec![crate::setup::task("web")], member());
    let (setup, store) = Setup::faulty(options).await;
    store.fail("change_task", &[Fault::Refused]);
    let refused = setup.tasks.clone().update_task(by_ci(disable("web"))).await;
    refused.unwrap_err();
    let state = task::GetTaskRequest { name: "web".into() };
    let state = setup.tasks.clone().get_task(state).await.unwrap();
    assert!(state.into_inner().task.unwrap().enabled);
    let records = records(&setup).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].outcome, "failed");
}

#[tokio::test]
async fn gateways_see_each_change_of_the_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options::alone(Vec::new(), member());
    let setup = Setup::over(Arc::clone(&store), options).await;
    let request = access::FollowTokensRequest {};
    let followed = setup.access.clone().follow_tokens(request).await;
    let mut followed = followed.unwrap().into_inner();
    let mut next = async || {
        // Documented are two seconds, for a machine that keeps up.
        let answer = timeout(LIMIT / 4, followed.message()).await.unwrap();
        answer.unwrap().unwrap().tokens
    };
    assert_eq!(next().await, []);
    // Commands write to the file while the scheduler works.
    let path = directory.path().join("cts.db");
    let command = cts_store_sqlite::attach(&path, Arc::new(SystemClock)).await;
    let command = command.unwrap();
    let token = NewStoredToken {
        name: "ci".to_owned(),
        sha256: [7; 32],
        role: Role::Operate,
        tasks: vec!["web-*".to_owned()],
        created_by: "test".to_owned(),
        life: None,
    };
    command.create_token(&token).await.unwrap();
    let tokens = next().await;
    let shown: Vec<_> = tokens.iter().map(|it| (&*it.name, &*it.role)).collect();
    assert_eq!(shown, [("ci", "operate")]);
    assert_eq!(tokens[0].sha256, [7; 32]);
    command.revoke_token("ci").await.unwrap();
    assert_eq!(next().await, []);
}

#[tokio::test]
async fn refusals_of_gateways_are_recorded() {
    let setup = Setup::new(Vec::new(), LIMIT).await;
    let caller = access::Caller {
        kind: "anonymous".to_owned(),
        address: "10.0.0.9".to_owned(),
        request_id: "r-2".to_owned(),
        ..access::Caller::default()
    };
    let refusal = |count| access::Refusal {
        caller: Some(caller.clone()),
        request: "DELETE /v1/tasks/web".to_owned(),
        reason: "the token is not known".to_owned(),
        count,
    };
    let request = access::RecordRefusalsRequest {
        refusals: vec![refusal(0), refusal(40)],
    };
    let mut access = setup.access.clone();
    access.record_refusals(request).await.unwrap();
    let records = records(&setup).await;
    let counts: Vec<_> = records.iter().map(|it| it.count).collect();
    assert_eq!(counts, [1, 40]);
    assert_eq!(records[0].target, "DELETE /v1/tasks/web");
    let many = access::RecordRefusalsRequest {
        refusals: vec![access::Refusal::default(); 1001],
    };
    let refused = access.record_refusals(many).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
}

/// Numbers of the records in the file, as soon as there are so many lines.
async fn lines(file: &Path, count: usize) -> Vec<u64> {
    let read = async {
        loop {
            let text = fs::read_to_string(file).unwrap_or_default();
            if text.lines().count() >= count && text.ends_with('\n') {
                let lines = text.lines().map(|line| {
                    let line: Value = serde_json::from_str(line).unwrap();
                    assert_eq!(line["action"], "task.update");
                    line["number"].as_u64().unwrap()
                });
                return lines.collect();
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, read).await.unwrap()
}

/// Waits until this number stands beside the file: then the file may go without a record twice.
async fn noted(file: &Path, number: u64) {
    let beside = file.with_file_name("audit.jsonl.last");
    let read = async {
        while fs::read_to_string(&beside).unwrap_or_default().trim() != number.to_string() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, read).await.unwrap();
}

#[tokio::test]
async fn a_file_gets_each_record_once_whatever_ends_in_between() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("audit.jsonl");
    let store = store_in(directory.path()).await;
    let options = || Options {
        audit: Audit {
            file: Some(file.clone()),
            kept_for: Duration::MAX,
            kept: u32::MAX,
        },
        ..Options::alone(vec![crate::setup::task("web")], member())
    };
    let update = async |setup: &Setup| {
        let updated = setup.tasks.clone().update_task(disable("web")).await;
        updated.unwrap();
    };
    {
        let setup = Setup::over(Arc::clone(&store), options()).await;
        update(&setup).await;
        update(&setup).await;
        assert_eq!(lines(&file, 2).await, [1, 2]);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // The process died within a line.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() - 10]).unwrap();
    let setup = Setup::over(Arc::clone(&store), options()).await;
    update(&setup).await;
    assert_eq!(lines(&file, 3).await, [1, 2, 3]);
    // Another program takes the file away, to compress it.
    fs::rename(&file, directory.path().join("audit.1")).unwrap();
    update(&setup).await;
    assert_eq!(lines(&file, 1).await, [4]);
    noted(&file, 4).await;
    drop(setup);

    // The program that empties the file, or takes it away, does so between two processes.
    for number in [5, 6] {
        if number == 5 {
            fs::write(&file, "").unwrap();
        } else {
            fs::remove_file(&file).unwrap();
        }
        let setup = Setup::over(Arc::clone(&store), options()).await;
        update(&setup).await;
        assert_eq!(lines(&file, 1).await, [number]);
        noted(&file, number).await;
    }
    // Nothing says which were written.
    fs::remove_file(&file).unwrap();
    fs::remove_file(directory.path().join("audit.jsonl.last")).unwrap();
    let setup = Setup::over(Arc::clone(&store), options()).await;
    update(&setup).await;
    assert_eq!(lines(&file, 7).await, [1, 2, 3, 4, 5, 6, 7]);
}
