//! A file that an earlier version of this program has written.

use std::fs;

use cts_core::runs::{EnqueueDecision, RunKind, RunStatus};
use cts_core::{Digest, Requirement, RunId, TaskPhase};
use cts_store::conformance::{claim, input, member, spec};
use cts_store::{EnqueueRequest, Store as _, StoredInput, Unchanged};
use cts_store_sqlite::SqliteStore;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::fixture::{ManualClock, file_in};

/// A task with one queued run, as the first version wrote them.
async fn first_version(connection: &mut SqliteConnection) -> RunId {
    let all = sqlx::migrate!("./migrations");
    let first = Migrator::with_migrations(all.migrations[..1].to_vec());
    first.run(&mut *connection).await.unwrap();
    let mut stored = serde_json::to_value(spec("a")).unwrap();
    let requirement = stored.as_object_mut().unwrap().remove("requirement");
    assert!(requirement.is_some(), "it was added later");
    let run = "00000000-0000-7000-8000-000000000001";
    let hash = Digest::of(b"1");
    let rows = format!(
        "INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, spec,
                            event_config, created_at, updated_at)
         VALUES ('a', 0, 'config', 1, 1, 1, '{stored}',
                 '{{\"providers\":[],\"services\":[],\"source\":\"x\"}}', 1, 1);
         INSERT INTO inputs (hash, encoding, content, created_at) VALUES ('{hash}', 'plain', x'31', 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at)
         VALUES ('{run}', 'a', '{hash}', 'queued', 1, 1, 1);"
    );
    let written = sqlx::raw_sql(AssertSqlSafe(rows)).execute(connection).await;
    written.unwrap();
    run.parse().unwrap()
}

#[tokio::test]
async fn a_file_of_the_first_version_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    fs::create_dir(path.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let run = first_version(&mut connection).await;
    connection.close().await.unwrap();

    let clock = std::sync::Arc::new(ManualClock::new());
    let store = SqliteStore::open(&path, clock, None).await.unwrap();
    let task = store.tasks().await.unwrap().remove(0);
    assert_eq!(task.spec.requirement, Requirement::default());
    let lease = store.acquire(&claim()).await.unwrap().unwrap();
    assert_eq!(lease.run, run);
    let stored = store.input(lease.input).await.unwrap();
    assert_eq!(stored, Some(StoredInput::OnePiece(b"1".to_vec())));
    let minute = std::time::Duration::from_mins(1);
    let leadership = store.lead(&member("a"), None, minute).await.unwrap();
    assert!(leadership.mine);
    let configured = store
        .replace_config_tasks(leadership.epoch, &[task.spec])
        .await;
    configured.unwrap();
    let record = store.run(run).await.unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Running);
    assert_eq!((record.kind, record.single), (RunKind::Apply, false));
    // What came later works in it as well: two plans beside the run.
    let plans = [
        "00000000-0000-7000-8000-000000000002",
        "00000000-0000-7000-8000-000000000003",
    ];
    let plans = plans.map(|id| EnqueueRequest {
        task: record.task.clone(),
        input: input("2"),
        run: id.parse().unwrap(),
        kind: RunKind::Plan,
        single: true,
        unchanged: Unchanged::AsTaskSays,
    });
    let queued = store.enqueue(leadership.epoch, plans.into()).await.unwrap();
    assert!(
        queued
            .iter()
            .all(|answer| answer.decision == Some(EnqueueDecision::Enqueue))
    );
}

/// The kinds of runs got one more, for which their column was made anew.
#[tokio::test]
async fn plans_events_and_logs_stay_when_checks_come() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    fs::create_dir(path.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let all = sqlx::migrate!("./migrations");
    let third = Migrator::with_migrations(all.migrations[..3].to_vec());
    third.run(&mut connection).await.unwrap();
    let stored = serde_json::to_string(&spec("a")).unwrap();
    let hash = Digest::of(b"1");
    let ids = [1, 2].map(|n| format!("00000000-0000-7000-8000-00000000000{n}"));
    let config = "{\"providers\":[],\"services\":[],\"source\":\"x\"}";
    let [applied, planned] = &ids;
    let rows = format!(
        "INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, spec,
                            event_config, created_at, updated_at)
         VALUES ('a', 0, 'config', 1, 1, 1, '{stored}', '{config}', 1, 1);
         INSERT INTO inputs (hash, encoding, content, created_at) VALUES ('{hash}', 'plain', x'31', 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at,
                           started_at, finished_at)
         VALUES ('{applied}', 'a', '{hash}', 'succeeded', 1, 1, 1, 1, 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at, kind,
                           single)
         VALUES ('{planned}', 'a', '{hash}', 'queued', 1, 1, 1, 'plan', 1);
         INSERT INTO events (id, task_name, run_id, success, start_time, end_time, config)
         VALUES ('{applied}', 'a', '{applied}', 1, 1, 1, '{config}');
         INSERT INTO log_lines (run_id, position, stream, line)
         VALUES ('{applied}', 1, 'stdout', 'a line');"
    );
    let written = sqlx::raw_sql(AssertSqlSafe(rows))
        .execute(&mut connection)
        .await;
    written.unwrap();
    connection.close().await.unwrap();

    let clock = std::sync::Arc::new(ManualClock::new());
    let store = SqliteStore::open(&path, clock, None).await.unwrap();
    let task = store.tasks().await.unwrap().remove(0);
    assert_eq!((task.phase, task.revision), (TaskPhase::Ready, 1));
    let state = store.task_state(task.spec.name()).await.unwrap().unwrap();
    assert_eq!(state.events.len(), 1);
    let page = store.read_log(state.events[0].run_id, 0, 10).await.unwrap();
    assert_eq!(page.unwrap().lines[0].text, "a line");
    let lease = store.acquire(&claim()).await.unwrap().unwrap();
    assert_eq!(
        (lease.run.to_string(), lease.kind),
        (planned.clone(), RunKind::Plan)
    );
    let applied = store.run(state.events[0].run_id).await.unwrap().unwrap();
    assert_eq!(applied.kind, RunKind::Apply);
}
