//! Files that other versions of this program have written.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Digest, Requirement};
use cts_store::schema::{PREDECESSOR, SchemaMismatch};
use cts_store::{Store as _, StoreError, StoredInput};
use cts_store_conformance::{claim, member, spec};
use cts_store_sqlite::SqliteStore;
use sqlx::migrate::Migrate as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::fixture::{ManualClock, file_in};

const OLD_SCHEMA: &str = include_str!("../predecessor.sql");

const FUTURE: i64 = 29_990_101_000_000;

async fn connected(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    SqliteConnection::connect_with(&options).await.unwrap()
}

async fn execute(path: &Path, statements: String) {
    let mut connection = connected(path).await;
    let done = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection);
    done.await.unwrap();
    connection.close().await.unwrap();
}

/// A file with the schema before the first version.
async fn predecessor(directory: &Path, newest: i64) -> PathBuf {
    let path = file_in(directory);
    fs::create_dir(path.parent().unwrap()).unwrap();
    let mut connection = connected(&path).await;
    let books = connection.ensure_migrations_table("_sqlx_migrations").await;
    books.unwrap();
    connection.close().await.unwrap();
    let version = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({newest}, 'contents', 1, x'00', 0);"
    );
    execute(&path, format!("{OLD_SCHEMA};{version}")).await;
    path
}

async fn opened(path: &Path) -> Result<SqliteStore, StoreError> {
    cts_store_sqlite::open(path, Arc::new(ManualClock::new()), None).await
}

async fn mismatch(path: &Path) -> SchemaMismatch {
    let error = opened(path).await.unwrap_err();
    let StoreError::Open { source, .. } = &error else {
        panic!("{error:?}");
    };
    let mismatch = source.downcast_ref::<SchemaMismatch>();
    mismatch.unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[tokio::test]
async fn a_file_from_before_the_first_version_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = predecessor(directory.path(), PREDECESSOR).await;
    let mut task = serde_json::to_value(spec("a")).unwrap();
    let requirement = task.as_object_mut().unwrap().remove("requirement");
    assert!(requirement.is_some(), "it was added later");
    let hash = Digest::of(b"1");
    let ids = [1, 2, 3].map(|n| format!("00000000-0000-7000-8000-00000000000{n}"));
    let config = "{\"providers\":[],\"services\":[],\"source\":\"x\"}";
    let [applied, planned, queued] = &ids;
    let rows = format!(
        "INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed, spec,
                            event_config, created_at, updated_at, settled_input)
         VALUES ('a', 0, 'config', 1, 1, 1, '{task}', '{config}', 1, 1, '{hash}');
         INSERT INTO inputs (id, hash, encoding, content, created_at)
         VALUES (1, '{hash}', 'plain', x'31', 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at,
                           started_at, finished_at)
         VALUES ('{applied}', 'a', '{hash}', 'succeeded', 1, 1, 1, 1, 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at, kind,
                           single)
         VALUES ('{planned}', 'a', '{hash}', 'queued', 1, 1, 1, 'plan', 1);
         INSERT INTO runs (id, task_name, input_hash, status, due_at, created_at, updated_at)
         VALUES ('{queued}', 'a', '{hash}', 'queued', 2, 1, 1);
         INSERT INTO events (id, task_name, run_id, success, start_time, end_time, config)
         VALUES ('{applied}', 'a', '{applied}', 1, 1, 1, '{config}');
         INSERT INTO log_lines (run_id, position, stream, line)
         VALUES ('{applied}', 1, 'stdout', 'a line');"
    );
    execute(&path, rows).await;

    let store = opened(&path).await.unwrap();
    let task = store.tasks().await.unwrap().remove(0);
    assert_eq!(task.spec.requirement, Requirement::default());
    let state = store.task_state(task.spec.name()).await.unwrap().unwrap();
    assert_eq!(state.events.len(), 1);
    let page = store
        .read_log(state.events[0].run_id.unwrap(), 0, 10)
        .await
        .unwrap();
    assert_eq!(page.unwrap().lines[0].text, "a line");
    let waits = store.run(planned.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((waits.kind, waits.no_retry), (RunKind::Plan, true));
    let lease = store.acquire(&claim()).await.unwrap().unwrap();
    assert_eq!(lease.run.to_string(), *planned);
    let stored = store.input(lease.input).await.unwrap();
    assert_eq!(stored, Some(StoredInput::OnePiece(b"1".to_vec())));
    let minute = std::time::Duration::from_mins(1);
    let leadership = store.lead(&member("a"), None, minute).await.unwrap();
    let specs = [task.spec];
    let configured = store.replace_config_tasks(leadership.epoch, &specs);
    configured.await.unwrap();
    let record = store.run(queued.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Queued);
    drop(store);
    opened(&path).await.unwrap();
}

/// Columns, indexes, triggers and references, as text.
async fn schema_of(path: &Path) -> BTreeSet<String> {
    let mut connection = connected(path).await;
    let rows: Vec<String> = sqlx::query_scalar(
        "SELECT format('%s.%s %s %s %s %s', m.name, x.name, x.type, x.\"notnull\", x.dflt_value, x.pk)
         FROM sqlite_schema m, pragma_table_xinfo(m.name) x WHERE m.type = 'table'
         UNION ALL
         SELECT format('%s.%s -> %s.%s %s', m.name, f.\"from\", f.\"table\", f.\"to\", f.on_delete)
         FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'
         UNION ALL
         SELECT sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let words = rows.iter().map(|row| row.replace('"', ""));
    words
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[tokio::test]
async fn a_moved_file_has_the_schema_of_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    for directory in [&old, &new] {
        fs::create_dir(directory).unwrap();
    }
    let moved = predecessor(&old, PREDECESSOR).await;
    drop(opened(&moved).await.unwrap());
    let fresh = file_in(&new);
    drop(opened(&fresh).await.unwrap());
    let (moved, fresh) = (schema_of(&moved).await, schema_of(&fresh).await);
    assert!(fresh.len() > 100, "{fresh:#?}");
    let differences: Vec<_> = moved.symmetric_difference(&fresh).collect();
    assert_eq!(differences, Vec::<&String>::new());
}

#[tokio::test]
async fn a_file_from_long_before_the_first_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let version = PREDECESSOR - 1;
    let path = predecessor(directory.path(), version).await;
    assert_eq!(mismatch(&path).await, SchemaMismatch::Ancient { version });
}

#[tokio::test]
async fn a_newer_file_that_still_fits_is_used_and_another_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_in(directory.path());
    drop(opened(&path).await.unwrap());
    let newer = format!(
        "ALTER TABLE tasks ADD COLUMN colour TEXT;
         CREATE TABLE later (id INTEGER);
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({FUTURE}, 'future', 1, x'00', 0)"
    );
    execute(&path, newer).await;
    let store = opened(&path).await.unwrap();
    let minute = std::time::Duration::from_mins(1);
    let epoch = store.lead(&member("a"), None, minute).await.unwrap().epoch;
    store
        .replace_config_tasks(epoch, &[spec("a")])
        .await
        .unwrap();
    assert_eq!(store.tasks().await.unwrap().len(), 1);
    drop(store);
    let raised = format!("UPDATE schema_compatibility SET oldest = {FUTURE}");
    execute(&path, raised).await;
    let (version, oldest) = (FUTURE, FUTURE);
    let expected = SchemaMismatch::Newer { version, oldest };
    assert_eq!(mismatch(&path).await, expected);
}
