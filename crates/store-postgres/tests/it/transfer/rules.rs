//! The rows that a move leaves out or changes, as `cts_store_sql::tables` and the import describe it.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Creation, Digest, EventId, RunId, TaskName};
use cts_store::{
    Deletion, EnqueueRequest, LogLine, LogStream, NewTask, Store as _, TaskChange, Unchanged,
};
use cts_store_conformance::transfer::richly_filled;
use cts_store_conformance::{Scene, claim, input, spec, task};
use cts_store_postgres::PostgresStore;

use super::file::{BOOT, FileFixture};
use super::{moved, open};
use crate::fixture::{migrated, number, settings};

type Subject = Scene<FileFixture>;

/// A database with the content of a file.
struct Target {
    url: String,
    store: PostgresStore,
}

impl Target {
    async fn of(scene: &Subject) -> Self {
        let url = migrated().await;
        moved(&mut open(scene.fixture()).await, &url).await;
        let store = cts_store_postgres::connect(&settings(&url)).await;
        Self {
            store: store.unwrap(),
            url,
        }
    }

    async fn count(&self, rows: &str) -> i64 {
        number(&self.url, &format!("SELECT count(*) FROM {rows}")).await
    }

    async fn status(&self, run: RunId) -> RunStatus {
        self.store.run(run).await.unwrap().unwrap().status
    }
}

async fn queue(scene: &Subject, name: &str, text: &str, kind: RunKind) -> RunId {
    let request = EnqueueRequest {
        kind,
        ..scene.request(name, text)
    };
    let run = request.run;
    let enqueued = scene.store().enqueue(scene.leader(), vec![request]).await;
    enqueued.unwrap();
    run
}

async fn create(scene: &Subject, name: &str) -> RunId {
    let new = NewTask {
        spec: spec(name),
        creation: Creation::Keep,
        run: scene.run_id(),
        kind: RunKind::Check,
    };
    scene.store().create_task(&new).await.unwrap();
    new.run
}

#[tokio::test]
async fn only_the_history_of_tasks_that_are_created_or_deleted_moves() {
    let scene = Subject::new(&["a", "gone"]).await;
    let stays = scene.apply("a", "1").await;
    let ended = scene.apply("gone", "1").await;
    let running = scene.leased("gone", "2").await.run;
    let store = scene.store();
    let deleted = store.delete_task(&task("gone"), Deletion::Retain).await;
    assert!(!deleted.unwrap(), "its run goes on");
    create(&scene, "requested").await;
    let asked = create(&scene, "queued").await;
    let request = EnqueueRequest {
        run: asked,
        kind: RunKind::Check,
        unchanged: Unchanged::Run,
        ..scene.request("queued", "3")
    };
    let enqueued = store.enqueue(scene.leader(), vec![request]).await.unwrap();
    let queued = enqueued[0].queued.unwrap();
    scene
        .fixture()
        .tamper(
            "INSERT INTO tick_events (task_name, place, number, id, start_time, end_time, config, after)
             SELECT name, 1, 1, '00000000-0000-7000-8000-00000000000' || position, 1, 1, event_config, 0
             FROM tasks",
        )
        .await;

    let target = Target::of(&scene).await;
    let tasks = target.store.tasks().await.unwrap();
    let names: Vec<&TaskName> = tasks.iter().map(|stored| stored.spec.name()).collect();
    assert_eq!(names, [&task("a")]);
    assert_eq!(target.count("tasks").await, 1);
    assert_eq!(target.count("deleted_tasks WHERE name = 'gone'").await, 1);
    assert_eq!(target.count("tick_events").await, 1);
    assert_eq!(target.count("run_requests").await, 0);
    for run in [stays, ended] {
        assert_eq!(target.status(run).await, RunStatus::Succeeded);
    }
    for run in [running, queued] {
        assert_eq!(target.status(run).await, RunStatus::Cancelled);
    }
    let ended = "runs WHERE status = 'cancelled' AND finished_at = updated_at AND attempts = 0";
    assert_eq!(target.count(ended).await, 2);
    assert_eq!(target.count("events").await, 2);
}

#[tokio::test]
async fn a_run_that_was_running_is_queued_without_the_attempt_that_is_cut_off() {
    let scene = Subject::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.failed(&lease, "no").await;
    scene.advance(failed.next_due.unwrap());
    let lease = scene.lease().await;
    // A plan is not replaced by the newer change.
    let plan = queue(&scene, "b", "1", RunKind::Plan).await;
    assert_eq!(scene.lease().await.run, plan);
    let newer = scene.queue("b", "2").await;

    let target = Target::of(&scene).await;
    for run in [lease.run, plan, newer] {
        assert_eq!(target.status(run).await, RunStatus::Queued);
    }
    let record = target.store.run(lease.run).await.unwrap().unwrap();
    let before = scene.run(lease.run).await;
    assert_eq!((before.attempts, record.attempts), (2, 1));
    assert_eq!(record.started_at, before.started_at);
    assert_eq!(record.finished_at, None);
    let attempts = target.store.attempts(lease.run).await.unwrap();
    let earlier = scene.store().attempts(lease.run).await.unwrap();
    assert_eq!(attempts, earlier[..1]);
    let later = format!("runs WHERE epoch = {}", lease.epoch.get());
    assert_eq!(target.count(&later).await, 1);
    assert_eq!(target.count("runs WHERE attempts < 0").await, 0);
}

#[tokio::test]
async fn a_running_apply_is_cancelled_if_a_newer_one_waits_or_its_task_withdrew_it() {
    let scene = Subject::new(&["overtaken", "disabled"]).await;
    let overtaken = scene.leased("overtaken", "1").await.run;
    let newer = scene.queue("overtaken", "2").await;
    let withdrawn = scene.leased("disabled", "1").await.run;
    let change = TaskChange {
        enabled: Some(false),
        ..TaskChange::default()
    };
    let changed = scene.store().change_task(&task("disabled"), &change).await;
    changed.unwrap();

    let target = Target::of(&scene).await;
    for run in [overtaken, withdrawn] {
        assert_eq!(target.status(run).await, RunStatus::Cancelled);
        let record = target.store.run(run).await.unwrap().unwrap();
        assert_eq!(record.attempts, 0);
        assert!(record.finished_at.is_some());
    }
    assert_eq!(target.status(newer).await, RunStatus::Queued);
    let marked = "runs WHERE withdrawn OR cancel_requested_at IS NOT NULL OR holder IS NOT NULL";
    assert_eq!(target.count(marked).await, 0);
}

/// Otherwise the new database would run the cancelled input again.
#[tokio::test]
async fn the_input_of_a_run_that_is_being_cancelled_stays_withheld() {
    let scene = Subject::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let event = EventId::from_uuid(scene.run_id().as_uuid());
    let cancelled = scene.store().cancel_run(lease.run, false, event).await;
    cancelled.unwrap();
    let target = Target::of(&scene).await;
    assert_eq!(target.status(lease.run).await, RunStatus::Cancelled);
    let withheld = format!("tasks WHERE cancelled_input = '{}'", lease.input);
    assert_eq!(target.count(&withheld).await, 1);
    let marked = "runs WHERE cancel_requested_at IS NOT NULL";
    assert_eq!(target.count(marked).await, 0);
}

#[tokio::test]
async fn no_input_counts_as_applied_after_a_copy_that_may_lack_commits() {
    let scene = Subject::new(&["a"]).await;
    scene.apply("a", "1").await;
    let path = scene.fixture().path();
    for (boot, expected) in [(Some(BOOT), 1), (Some("another boot"), 0), (None, 0)] {
        let mut source = cts_store_sqlite::export(&path, boot).await.unwrap();
        let url = migrated().await;
        moved(&mut source, &url).await;
        for column in ["last_applied", "tried_input"] {
            let query = format!("SELECT count({column}) FROM tasks");
            assert_eq!(number(&url, &query).await, expected, "{boot:?}");
        }
    }
}

#[tokio::test]
async fn later_rows_have_numbers_of_their_own() {
    let scene = richly_filled::<FileFixture>().await;
    let again = "UPDATE runs SET incarnation = 70 WHERE status = 'succeeded'";
    scene.fixture().tamper(again).await;
    let target = Target::of(&scene).await;
    let largest = "SELECT greatest((SELECT max(incarnation) FROM tasks), (SELECT max(incarnation) FROM runs))";
    assert_eq!(number(&target.url, largest).await, 70);
    let next = "SELECT nextval('task_incarnations')";
    assert_eq!(number(&target.url, next).await, 71);
    let next =
        "SELECT nextval(pg_get_serial_sequence('events', 'position')) - max(position) FROM events";
    assert_eq!(number(&target.url, next).await, 1);
    let head = "SELECT (SELECT number FROM audit_head) - max(number) FROM audit_records";
    assert_eq!(number(&target.url, head).await, 0);
    // New inputs and contents do not collide with moved ones.
    let store = &target.store;
    let leader = crate::outage::lead(store, "one").await;
    let request = crate::outage::request("steady", "an input that is new");
    let enqueued = store.enqueue(leader, vec![request]).await.unwrap();
    assert!(enqueued[0].decision.is_some());
    let stored = store.input(input("an input that is new").hash).await;
    assert!(stored.unwrap().is_some());
}

#[tokio::test]
async fn a_null_character_is_replaced_in_every_text() {
    let scene = Subject::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let line = LogLine {
        stream: LogStream::Stdout.into(),
        text: "before\0after".to_owned(),
    };
    let store = scene.store();
    let logged = store.append_log(lease.run, &lease.holder, lease.epoch, vec![line]);
    logged.await.unwrap();
    scene.applied(&lease).await;
    for change in [
        "UPDATE runs SET requested_by = 'x' || char(0)",
        "UPDATE events SET requested_by = 'x' || char(0), error = char(0) || 'x'",
        "INSERT INTO audit_records VALUES (7, 1, 'token', char(0), char(0), '', 'task.update', char(0), '{}',
                                           'refused', char(0), char(0), 1)",
        "INSERT INTO access_tokens VALUES ('t', zeroblob(32), 'read', '[]', 1, 'x' || char(0), NULL, 0)",
    ] {
        scene.fixture().tamper(change).await;
    }
    let target = Target::of(&scene).await;
    let replaced = [
        "log_lines WHERE line = U&'before\\FFFDafter'",
        "runs WHERE requested_by = U&'x\\FFFD'",
        "events WHERE requested_by = U&'x\\FFFD' AND error = U&'\\FFFDx'",
        "audit_records WHERE number = 7 AND U&'\\FFFD' = ALL (ARRAY[caller, issuer, target, reason, request_id])",
        "access_tokens WHERE created_by = U&'x\\FFFD' AND sha256 = decode(repeat('00', 32), 'hex')",
    ];
    for rows in replaced {
        assert_eq!(target.count(rows).await, 1, "{rows}");
    }
}

#[tokio::test]
async fn processes_requests_keys_and_explanations_do_not_move() {
    let scene = richly_filled::<FileFixture>().await;
    let store = scene.store();
    store
        .explain(scene.leader(), &[(task("steady"), "{}".to_owned())])
        .await
        .unwrap();
    for row in [
        "INSERT INTO hastened_tasks VALUES ('steady', 1)",
        "INSERT INTO change_times VALUES (0, '', '{}')",
        "INSERT INTO sessions VALUES (zeroblob(32), 'user', 'alice', '', 'read', '[]', NULL, 0, 9000000000000000)",
    ] {
        scene.fixture().tamper(row).await;
    }
    let target = Target::of(&scene).await;
    for table in [
        "members",
        "workers",
        "member_configurations",
        "worker_settings",
        "settings",
        "run_requests",
        "lost_leases",
        "cluster_key",
        "lease_key",
        "hastened_tasks",
        "change_times",
        "sessions",
        "archives",
        "log_sizes",
    ] {
        assert_eq!(target.count(table).await, 0, "{table}");
    }
    assert_eq!(target.count("tasks WHERE explanation IS NOT NULL").await, 0);
    assert_eq!(target.count("tasks WHERE active_run IS NOT NULL").await, 0);
    assert_eq!(
        target
            .count("leadership WHERE holder IS NOT NULL OR epoch <> 0")
            .await,
        0
    );
}

#[tokio::test]
async fn inputs_and_bundles_that_the_target_has_stay_as_they_are() {
    let scene = Subject::new(&["a"]).await;
    let run = scene.apply("a", "1").await;
    let bytes = b"a bundle";
    scene
        .store()
        .store_bundle(Digest::of(bytes), bytes)
        .await
        .unwrap();
    let target = Target::of(&scene).await;
    let url = target.url;
    for gone in ["tasks", "runs"] {
        let left = format!("TRUNCATE {gone} CASCADE");
        crate::fixture::execute(&url, &left).await;
    }
    crate::fixture::execute(&url, "UPDATE bundles SET used_at = 7").await;
    moved(&mut open(scene.fixture()).await, &url).await;
    assert_eq!(number(&url, "SELECT used_at FROM bundles").await, 7);
    let record = target.store.run(run).await.unwrap().unwrap();
    let (is, was) = tokio::join!(target.store.input(record.input), async {
        scene.store().input(record.input).await
    });
    assert_eq!(is.unwrap(), was.unwrap());
    assert!(target.store.acquire(&claim()).await.unwrap().is_none());
}
