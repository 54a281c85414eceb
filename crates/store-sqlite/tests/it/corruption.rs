//! Rows with values that this program never writes.

use cts_core::runs::RunKind;
use cts_core::{Digest, TaskStatus};
use cts_store::{LeaderError, LeaseError, LogLine, LogStream, StoreError, TaskChange};
use cts_store_conformance::{Scene, claim, member, spec, task, worker_record};

use crate::fixture::SqliteFixture;

type Subject = Scene<SqliteFixture>;

/// A task with an ended run and its log.
async fn scene() -> Subject {
    let scene = Scene::<SqliteFixture>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let line = LogLine {
        stream: LogStream::Stdout.into(),
        text: "x".to_owned(),
    };
    scene.append(&lease, vec![line]).await;
    scene.applied(&lease).await;
    scene
}

async fn tamper(scene: &Subject, statement: &str) {
    scene.fixture().tamper(statement).await;
}

#[track_caller]
fn assert_corrupt<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    expected: (&str, &str),
    key: &str,
) {
    let error = answer.unwrap_err();
    let StoreError::CorruptRow {
        table, column, row, ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!((*table, *column), expected);
    assert_eq!(row, key);
}

fn store_error(error: LeaseError) -> StoreError {
    match error {
        LeaseError::Store(error) => error,
        LeaseError::Lost { .. } => panic!("{error:?}"),
    }
}

fn leader_store_error(error: LeaderError) -> StoreError {
    match error {
        LeaderError::Store(error) => error,
        LeaderError::Deposed { .. } => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn reports_a_corrupt_task() {
    for spec in ["{}", "not json", "", "null"] {
        let scene = scene().await;
        tamper(&scene, &format!("UPDATE tasks SET spec = '{spec}'")).await;
        let store = scene.store();
        assert_corrupt(store.tasks().await, ("tasks", "spec"), "a");
        assert_corrupt(store.task(&task("a")).await, ("tasks", "spec"), "a");
    }
    let scene = scene().await;
    tamper(&scene, "UPDATE tasks SET origin = 'moon'").await;
    assert_corrupt(scene.store().tasks().await, ("tasks", "origin"), "a");
    let scene = self::scene().await;
    let fixture = scene.fixture();
    fixture.tamper("UPDATE tasks SET revision = -1").await;
    assert_corrupt(scene.store().tasks().await, ("tasks", "revision"), "a");
    fixture.tamper("UPDATE tasks SET configured = 'x'").await;
    let store = scene.store();
    let replaced = store
        .replace_config_tasks(scene.leader(), &[spec("a")])
        .await;
    let error = leader_store_error(replaced.unwrap_err());
    assert_corrupt::<()>(Err(error), ("tasks", "configured"), "a");
}

#[tokio::test]
async fn reports_a_corrupt_request() {
    let changes = [
        ("task_name = 'two words'", "task_name"),
        ("kind = 'destroy'", "kind"),
        ("requested_at = 9223372036854775807", "requested_at"),
    ];
    for (change, column) in changes {
        let scene = scene().await;
        let run = scene.run_id();
        let asked = TaskChange {
            request: Some((run, RunKind::Plan)),
            ..TaskChange::default()
        };
        let store = scene.store();
        store.change_task(&task("a"), &asked).await.unwrap();
        tamper(&scene, &format!("UPDATE run_requests SET {change}")).await;
        let expected = ("run_requests", column);
        assert_corrupt(store.requests().await, expected, &run.to_string());
        assert_corrupt(store.request(run).await, expected, &run.to_string());
    }
}

#[tokio::test]
async fn reports_a_corrupt_state() {
    for config in ["{}", "not json"] {
        let scene = scene().await;
        tamper(
            &scene,
            &format!("UPDATE tasks SET event_config = '{config}'"),
        )
        .await;
        let store = scene.store();
        let expected = ("tasks", "event_config");
        assert_corrupt(store.task_states(None).await, expected, "a");
        assert_corrupt(
            store.task_states(Some(TaskStatus::Critical)).await,
            expected,
            "a",
        );
        assert_corrupt(store.task_state(&task("a")).await, expected, "a");
    }
    let scene = scene().await;
    tamper(&scene, "UPDATE tasks SET name = 'two words'").await;
    assert_corrupt(
        scene.store().task_states(None).await,
        ("tasks", "name"),
        "two words",
    );
}

#[tokio::test]
async fn reports_a_corrupt_event() {
    let changes = [
        ("run_id = 'x'", "run_id"),
        ("config = '[]'", "config"),
        ("start_time = 9223372036854775807", "start_time"),
        ("end_time = -9223372036854775807", "end_time"),
    ];
    for (change, column) in changes {
        let scene = scene().await;
        let event = scene.state("a").await.events[0].id.to_string();
        tamper(&scene, &format!("UPDATE events SET {change}")).await;
        let store = scene.store();
        assert_corrupt(store.task_states(None).await, ("events", column), &event);
        assert_corrupt(
            store.task_state(&task("a")).await,
            ("events", column),
            &event,
        );
    }
}

#[tokio::test]
async fn reports_a_corrupt_run() {
    let changes = [
        ("task_name = ''", "task_name"),
        ("status = 'lost'", "status"),
        ("input_hash = 'abc'", "input_hash"),
        ("attempts = -1", "attempts"),
        ("attempts = 4294967296", "attempts"),
        ("created_at = 9223372036854775807", "created_at"),
        ("due_at = 9223372036854775807", "due_at"),
        ("started_at = 9223372036854775807", "started_at"),
        ("finished_at = 9223372036854775807", "finished_at"),
        ("kind = 'destroy'", "kind"),
        ("errors = '{}'", "errors"),
        ("changes_present = 1", "plan"),
        (
            "changes_present = 1, plan_encoding = 'plain', plan = x'ff'",
            "plan",
        ),
        (
            "changes_present = 1, plan_encoding = 'zstd', plan = x'00'",
            "plan",
        ),
    ];
    for (change, column) in changes {
        let scene = scene().await;
        let run = scene.state("a").await.events[0].run_id.expect("the run");
        tamper(&scene, &format!("UPDATE runs SET {change}")).await;
        let read = scene.store().run(run).await;
        assert_corrupt(read, ("runs", column), &run.to_string());
    }
}

#[tokio::test]
async fn reports_a_corrupt_queued_run() {
    let changes = [
        ("epoch = -7", "epoch"),
        ("input_hash = 'abc'", "input_hash"),
        ("attempts = 4294967296", "attempts"),
        ("kind = 'destroy'", "kind"),
    ];
    for (change, column) in changes {
        let scene = scene().await;
        let run = scene.queue("a", "2").await;
        tamper(
            &scene,
            &format!("UPDATE runs SET {change} WHERE status = 'queued'"),
        )
        .await;
        let lease = scene.store().acquire(&claim()).await;
        assert_corrupt(lease, ("runs", column), &run.to_string());
        let query = "SELECT count(*) FROM runs WHERE status = 'queued'";
        let left = scene.fixture().number(query).await;
        assert_eq!(left, 1, "nothing was committed");
    }
}

#[tokio::test]
async fn reports_a_corrupt_running_run() {
    let changes = [
        ("runs", "errors = '{}' WHERE status = 'running'", "errors"),
        (
            "runs",
            "input_hash = 'abc' WHERE status = 'running'",
            "input_hash",
        ),
        ("tasks", "failures = -1", "failures"),
        ("tasks", "event_config = '7'", "event_config"),
    ];
    for (table, change, column) in changes {
        let scene = scene().await;
        let lease = scene.leased("a", "2").await;
        tamper(&scene, &format!("UPDATE {table} SET {change}")).await;
        let completion = scene.completion(&lease, cts_core::runs::AttemptOutcome::Applied);
        let completed = scene.store().complete(completion).await;
        let key = if table == "runs" {
            lease.run.to_string()
        } else {
            "a".to_owned()
        };
        assert_corrupt(completed.map_err(store_error), (table, column), &key);
        let query = "SELECT count(*) FROM runs WHERE status = 'running'";
        let left = scene.fixture().number(query).await;
        assert_eq!(left, 1, "nothing was committed");
    }
}

#[tokio::test]
async fn reports_corrupt_rows_when_an_input_is_frozen() {
    let changes = [
        (
            "runs",
            "input_hash = 'abc' WHERE status = 'queued'",
            "input_hash",
        ),
        (
            "runs",
            "input_hash = 'abc' WHERE status = 'running'",
            "input_hash",
        ),
        ("runs", "id = 'abc' WHERE status = 'queued'", "id"),
        ("tasks", "last_applied = 'abc'", "last_applied"),
    ];
    for (table, change, column) in changes {
        let scene = scene().await;
        scene.leased("a", "2").await;
        scene.queue("a", "3").await;
        tamper(&scene, &format!("UPDATE {table} SET {change}")).await;
        let request = scene.request("a", "4");
        let enqueued = scene.store().enqueue(scene.leader(), vec![request]).await;
        assert_corrupt(enqueued.map_err(leader_store_error), (table, column), "a");
    }
}

#[tokio::test]
async fn reports_a_corrupt_log() {
    let scene = scene().await;
    let run = scene.state("a").await.events[0].run_id.expect("the run");
    tamper(&scene, "UPDATE log_lines SET stream = 'stdin'").await;
    let log = scene.store().read_log(run, 0, 10).await;
    assert_corrupt(log, ("log_lines", "stream"), &run.to_string());
}

#[tokio::test]
async fn reports_a_corrupt_input() {
    let scene = scene().await;
    tamper(
        &scene,
        "UPDATE contents SET encoding = 'zstd', content = x'00ff'",
    )
    .await;
    let hash = Digest::of(b"1");
    let read = scene.store().contents(&[hash]).await;
    assert_corrupt(read, ("contents", "content"), &hash.to_string());
    // A content that does not have its hash any more.
    let changed = "UPDATE contents SET encoding = 'plain', content = x'32'";
    scene.fixture().tamper(changed).await;
    let read = scene.store().contents(&[hash]).await;
    assert_corrupt(read, ("contents", "content"), &hash.to_string());
}

#[tokio::test]
async fn reports_a_corrupt_leadership() {
    let scene = scene().await;
    tamper(&scene, "UPDATE leadership SET epoch = -7").await;
    let time_to_live = std::time::Duration::from_secs(15);
    let lead = scene.store().lead(&member("a"), None, time_to_live).await;
    assert_corrupt(lead, ("leadership", "epoch"), "1");
    let members = "SELECT count(*) FROM members WHERE id = 'a'";
    assert_eq!(scene.fixture().number(members).await, 0);
}

#[tokio::test]
async fn reports_a_corrupt_worker() {
    let changes = [
        ("capabilities = '{}'", "capabilities"),
        ("slots = -1", "slots"),
        ("created_at = 9223372036854775807", "created_at"),
    ];
    for (change, column) in changes {
        let scene = scene().await;
        let store = scene.store();
        let noted = store.record_heartbeat(&worker_record("w"), None).await;
        noted.unwrap();
        tamper(&scene, &format!("UPDATE workers SET {change}")).await;
        let workers = store.workers(std::time::Duration::from_secs(1)).await;
        assert_corrupt(workers, ("workers", column), "w");
    }
}
