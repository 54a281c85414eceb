//! Behaviours of tokens and of the records of calls.

use std::time::Duration;

use cts_core::callers::{AuditAction, AuditOutcome, AuditRecord, Caller, CallerKind, Role};
use cts_core::runs::RunKind;
use cts_core::{Creation, RunId, WorkerId};

use crate::Fixture;
use crate::scene::{Scene, destroyed, seconds, spec, task};
use cts_store::{Deletion, NewStoredToken, StoredRecord, TaskChange};

/// A call of the token `ci`, with everything set.
pub(crate) fn call(action: AuditAction, target: &str) -> AuditRecord {
    let caller = Caller::new(CallerKind::User, "ci \u{e9}", "10.0.0.1".parse().ok());
    let record = AuditRecord::new(caller.of_issuer("https://login.example"), action, target);
    AuditRecord {
        request_id: "request".to_owned(),
        ..record.with("run", "now").with("text", "a\"b")
    }
}

/// A refused request that stands for some.
pub(crate) fn refused(count: u32) -> AuditRecord {
    let caller = Caller::anonymous("10.0.0.9".parse().ok());
    let reason = AuditOutcome::Refused("no token".to_owned());
    AuditRecord {
        count,
        ..AuditRecord::new(caller, AuditAction::Request, "GET /v1/tasks").ended(reason)
    }
}

pub(crate) fn token(name: &str, life: Option<Duration>) -> NewStoredToken {
    let byte = name.as_bytes()[0];
    NewStoredToken {
        name: name.to_owned(),
        sha256: [byte; 32],
        role: Role::Operate,
        tasks: vec!["web-*".to_owned()],
        created_by: "local \"root\"".to_owned(),
        life,
    }
}

/// Requests an apply of the task `a`, with this record of the call.
pub(super) async fn ask_recorded<F: Fixture>(scene: &Scene<F>, record: AuditRecord) -> RunId {
    let run = scene.run_id();
    let change = TaskChange {
        request: Some((run, RunKind::Apply)),
        ..TaskChange::default()
    };
    let recording = scene.store().recording(record);
    let changed = recording.change_task(&task("a"), &change).await;
    changed.expect("the task is there");
    run
}

async fn records<F: Fixture>(scene: &Scene<F>) -> Vec<StoredRecord> {
    let records = scene.store().audit_records(None, 1000).await;
    records.expect("records can be read")
}

pub async fn a_change_and_its_record_are_one<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    let change = TaskChange {
        enabled: Some(false),
        revision: Some(1),
        ..TaskChange::default()
    };
    let record = call(AuditAction::UpdateTask, "a");
    let recording = scene.store().recording(record.clone());
    let changed = recording.change_task(&task("a"), &change).await;
    changed.expect("the task is there");
    let refused = recording.change_task(&task("a"), &change).await;
    refused.expect_err("it has another revision");
    scene.restart().await;
    let stored = records(&scene).await;
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].number, &stored[0].record), (1, &record));
    // Other handles record nothing.
    scene.lead().await;
    scene.enable("a", true).await;
    assert_eq!(records(&scene).await.len(), 1);
}

pub async fn every_change_of_a_caller_is_recorded<F: Fixture>() {
    let scene = Scene::<F>::configured(&[destroyed("a"), spec("b")]).await;
    scene.apply("a", "1").await;
    let recording = |action| scene.store().recording(call(action, "a"));
    let new = scene.new_task("new", Creation::Keep, RunKind::Check);
    let created = recording(AuditAction::CreateTask).create_task(&new).await;
    created.expect("the name is free");
    let plans = recording(AuditAction::PlanDestruction);
    let plans = plans
        .plan_destruction(&task("a"), scene.run_id(), None)
        .await;
    assert!(plans.expect("the task is there"));
    let nothing = recording(AuditAction::PlanDestruction);
    let nothing = nothing
        .plan_destruction(&task("b"), scene.run_id(), None)
        .await;
    assert!(!nothing.expect("the task is there"));
    let released = recording(AuditAction::ReleaseTask);
    let released = released.release_task(&task("a"), None).await;
    assert_eq!(released.expect("the task is there"), None);
    let run = scene.queue("b", "1").await;
    let cancelled = recording(AuditAction::CancelRun);
    let cancelled = cancelled.cancel_run(run, false, scene.event_id()).await;
    cancelled.expect("it is queued");
    let drains = recording(AuditAction::DrainWorker);
    for unknown in ["unknown", "un\0known"] {
        let drained = drains.drain_worker(&WorkerId::new(unknown)).await;
        assert!(!drained.expect("workers can be written"));
    }
    let deletion = Deletion::Retain;
    let deleted = recording(AuditAction::DeleteTask);
    let deleted = deleted.delete_task(&task("b"), deletion).await;
    deleted.expect("the task is there");
    let made = recording(AuditAction::CreateToken);
    for is_made in [true, false] {
        let created = made.create_token(&token("ci", None)).await;
        assert_eq!(created.expect("tokens can be written"), is_made);
    }
    let actions: Vec<_> = records(&scene)
        .await
        .into_iter()
        .rev()
        .map(|stored| (stored.number, stored.record.action))
        .collect();
    let expected = [
        AuditAction::CreateTask,
        AuditAction::PlanDestruction,
        AuditAction::PlanDestruction,
        AuditAction::ReleaseTask,
        AuditAction::CancelRun,
        AuditAction::DeleteTask,
        AuditAction::CreateToken,
    ];
    let expected: Vec<_> = (1..).zip(expected).collect();
    assert_eq!(actions, expected);
}

pub async fn runs_and_events_name_who_asked_for_them<F: Fixture>() {
    let scene = Scene::<F>::configured(&[destroyed("a"), spec("b")]).await;
    let record = call(AuditAction::UpdateTask, "a");
    let by = Some(record.caller.to_string());
    let run = ask_recorded(&scene, record.clone()).await;
    let request = scene.find_request(run).await.expect("it is requested");
    assert_eq!(request.requested_by, by);
    let lease = scene.lease_requested(run, "1").await;
    assert_eq!(scene.run(run).await.requested_by, by);
    scene.applied(&lease).await;
    let events = scene.state("a").await.events;
    assert_eq!(events[0].requested_by, by);
    // A change of data has no caller, also if a requested run failed before.
    scene.apply("a", "2").await;
    assert_eq!(scene.state("a").await.events[0].requested_by, None);
    let failing = ask_recorded(&scene, record).await;
    let lease = scene.lease_requested(failing, "3").await;
    scene.failed(&lease, "no").await;
    assert_eq!(scene.state("a").await.events[0].requested_by, by);
    // The run that destroys is queued by the store.
    let deleting = call(AuditAction::DeleteTask, "a");
    let destroying = scene.run_id();
    let deleted = scene.store().recording(deleting);
    let deletion = Deletion::AsTaskSays { run: destroying };
    let deleted = deleted.delete_task(&task("a"), deletion).await;
    deleted.expect("the task is there");
    assert_eq!(scene.run(destroying).await.requested_by, by);
}

pub async fn a_destruction_that_waits_names_who_asked_for_it<F: Fixture>() {
    let scene = Scene::<F>::configured(&[destroyed("a")]).await;
    scene.apply("a", "1").await;
    let lease = scene.leased("a", "2").await;
    let record = call(AuditAction::DeleteTask, "a");
    let by = Some(record.caller.to_string());
    let run = scene.run_id();
    let recording = scene.store().recording(record);
    let deletion = Deletion::AsTaskSays { run };
    let deleted = recording.delete_task(&task("a"), deletion).await;
    assert!(!deleted.expect("the task is there"));
    scene.applied(&lease).await;
    assert_eq!(scene.run(run).await.requested_by, by);
}

pub async fn records_come_in_their_order_page_by_page<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let store = scene.store();
    store.audit(&[]).await.expect("nothing can be stored");
    let written: Vec<_> = (1..=5).map(refused).collect();
    store.audit(&written[..2]).await.expect("it can be stored");
    scene.advance(seconds(5));
    store.audit(&written[2..]).await.expect("it can be stored");
    let all = store
        .audit_records_after(0, 10)
        .await
        .expect("it can be read");
    let read: Vec<_> = all.iter().map(|stored| stored.record.clone()).collect();
    assert_eq!(read, written);
    assert_eq!(all[2].at - all[1].at, chrono::TimeDelta::seconds(5));
    let numbers = |records: Vec<StoredRecord>| -> Vec<u64> {
        records.iter().map(|stored| stored.number).collect()
    };
    for (before, limit, expected) in [(None, 2, [5, 4]), (Some(4), 2, [3, 2])] {
        let page = store.audit_records(before, limit).await;
        assert_eq!(numbers(page.expect("it can be read")), expected);
    }
    let page = store.audit_records_after(3, 10).await;
    assert_eq!(numbers(page.expect("it can be read")), [4, 5]);
}

pub async fn refused_requests_and_logins_drive_out_no_other_record<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let store = scene.store();
    let change = call(AuditAction::CancelRun, "r");
    store
        .audit(std::slice::from_ref(&change))
        .await
        .expect("it can be stored");
    let flood: Vec<_> = (0..30).map(|_| refused(1)).collect();
    store.audit(&flood).await.expect("it can be stored");
    let forgotten = store.prune_audit(seconds(60), 20).await;
    assert_eq!(forgotten.expect("it can be pruned"), 20);
    let left = records(&scene).await;
    assert_eq!(left.len(), 11);
    assert_eq!(left.last().map(|stored| &stored.record), Some(&change));
    let logins = [AuditAction::BeginSession, AuditAction::EndSession];
    let logins = logins.repeat(15).into_iter();
    let logins: Vec<_> = logins.map(|action| call(action, "ci")).collect();
    store.audit(&logins).await.expect("it can be stored");
    let forgotten = store.prune_audit(seconds(60), 20).await;
    assert_eq!(forgotten.expect("it can be pruned"), 25);
    let left = records(&scene).await;
    assert_eq!(left.len(), 16);
    assert_eq!(left.last().map(|stored| &stored.record), Some(&change));
    let changes: Vec<_> = (0..30).map(|_| change.clone()).collect();
    store.audit(&changes).await.expect("it can be stored");
    store
        .prune_audit(seconds(60), 20)
        .await
        .expect("it can be pruned");
    let numbers: Vec<_> = records(&scene)
        .await
        .iter()
        .map(|stored| stored.number)
        .collect();
    assert_eq!(numbers, (72..=91).rev().collect::<Vec<u64>>());
    scene.advance(seconds(61));
    store.audit(&[change]).await.expect("it can be stored");
    store
        .prune_audit(seconds(60), 20)
        .await
        .expect("it can be pruned");
    let left = records(&scene).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].number, 92);
}

pub async fn tokens_have_one_name_each<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    let create = async |scene: &Scene<F>, new: &NewStoredToken| {
        let created = scene.store().create_token(new).await;
        created.expect("a token can be stored")
    };
    let limited = token("b", Some(seconds(60)));
    assert!(create(&scene, &limited).await);
    assert!(create(&scene, &token("a", None)).await);
    let other = NewStoredToken {
        sha256: [0; 32],
        ..token("a", None)
    };
    assert!(!create(&scene, &other).await);
    scene.restart().await;
    let tokens = scene.store().tokens().await.expect("tokens can be read");
    let names: Vec<_> = tokens
        .iter()
        .map(|token| (&*token.name, token.sha256))
        .collect();
    assert_eq!(names, [("a", [b'a'; 32]), ("b", [b'b'; 32])]);
    assert_eq!(tokens[0].expires_at, None);
    let end = tokens[1].created_at + seconds(60);
    assert_eq!(tokens[1].expires_at, Some(end));
    assert_eq!(
        (tokens[1].role, &tokens[1].tasks),
        (Some(Role::Operate), &limited.tasks)
    );
    for (name, role) in ["c", "d", "e", "f"].into_iter().zip([
        Role::Read,
        Role::Approve,
        Role::OperateApprove,
        Role::Admin,
    ]) {
        let new = NewStoredToken {
            role,
            ..token(name, None)
        };
        assert!(create(&scene, &new).await);
        let tokens = scene.store().tokens().await.expect("tokens can be read");
        assert_eq!(tokens.last().and_then(|token| token.role), Some(role));
        let revoked = scene.store().revoke_token(name).await;
        assert!(revoked.expect("a token can be revoked"));
    }
    for was_there in [true, false] {
        let revoked = scene.store().revoke_token("b").await;
        assert_eq!(revoked.expect("a token can be revoked"), was_there);
    }
    assert_eq!(
        scene
            .store()
            .tokens()
            .await
            .expect("tokens can be read")
            .len(),
        1
    );
}

/// Tokens and records, for the move to another store.
pub(crate) async fn filled<F: Fixture>(scene: &Scene<F>) {
    let store = scene.store();
    let records = [call(AuditAction::ReplaceTask, "\0 \u{1F600}"), refused(7)];
    store.audit(&records).await.expect("it can be stored");
    for new in [token("a", None), token("b", Some(seconds(60)))] {
        store.create_token(&new).await.expect("it can be stored");
    }
}
