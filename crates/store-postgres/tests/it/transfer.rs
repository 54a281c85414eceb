//! Everything moves: out of a file or a database, into a database.

mod file;
mod rules;

use std::collections::BTreeSet;

use cts_core::lease::{LeaseKey, PlanKey};
use cts_core::runs::{RunKinds, RunStatus};
use cts_core::{Digest, RunId};
use cts_store::{Claim, Event, HeldLeases as _, PlanStore as _, Store as _, StoreError};
use cts_store_conformance::transfer::{Contents, richly_filled};
use cts_store_conformance::{claim, task};
use cts_store_postgres::{NotEmpty, PostgresImport, check_empty, export};
use cts_store_sql::tables::TABLES;
use cts_store_sqlite::SqlExport;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use self::file::BOOT;
pub(crate) use self::file::FileFixture;
use crate::fixture::{execute, migrated, number, settings};
use crate::outage::applied;

/// The tables whose rows `cts migrate` counts, in its order.
const COUNTED: [&str; 18] = [
    "tasks",
    "deleted_tasks",
    "configuration_in_force",
    "fleet_brake",
    "contents",
    "inputs",
    "runs",
    "events",
    "tick_events",
    "log_lines",
    "plans",
    "causes",
    "cause_runs",
    "approvals",
    "plan_key",
    "bundles",
    "access_tokens",
    "audit_records",
];

/// The scenes play in the future.
const DUE: &str = "UPDATE runs SET due_at = 0 WHERE status = 'queued'";

async fn open(file: &FileFixture) -> SqlExport {
    cts_store_sqlite::export(&file.path(), Some(BOOT))
        .await
        .unwrap()
}

async fn contents(url: &str) -> Contents {
    let mut export = export(&settings(url)).await.unwrap();
    Contents::of(&mut export).await
}

/// Moves everything and returns what was there.
async fn moved(source: &mut SqlExport, url: &str) -> Contents {
    let before = Contents::of(source).await;
    let mut import = PostgresImport::begin(&settings(url)).await.unwrap();
    let mut told = Vec::new();
    let counts = import.copy(source, |table, rows| told.push((table, rows)));
    let mut counts = counts.await.unwrap();
    assert_eq!(counts, source.counts().await.unwrap());
    let names: Vec<_> = counts.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, COUNTED);
    counts.retain(|(_, rows)| *rows > 0);
    assert_eq!(told, counts, "each table is one page here");
    import.commit().await.unwrap();
    before
}

fn not_empty(result: Result<impl Sized, StoreError>) -> NotEmpty {
    match result.map(drop) {
        Err(StoreError::Open { source, .. }) => *source.downcast::<NotEmpty>().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_arrives_in_a_database_as_it_is() {
    let scene = richly_filled::<FileFixture>().await;
    let file = scene.fixture();
    let api =
        "UPDATE tasks SET origin = 'api', position = position + 10 WHERE name IN ('_', 'off')";
    file.tamper(api).await;
    let url = migrated().await;
    let before = moved(&mut open(file).await, &url).await;

    let statuses: BTreeSet<String> = before.column("runs", "status").into_iter().collect();
    let expected = ["cancelled", "failed", "queued", "running", "succeeded"];
    assert_eq!(statuses, expected.map(str::to_owned).into());
    let number = |table, column, number: u64| before.column(table, column).contains(&number);
    assert!(number("runs", "epoch", 3));
    assert!(number("tasks", "failures", 1) && number("tasks", "skipped", 8));
    let lines: Vec<String> = before.column("log_lines", "line");
    assert!(lines.iter().any(|line| line.len() == 64 * 1024));
    let errors = before
        .tables()
        .find(|(table, _)| *table == "events")
        .unwrap()
        .1;
    let has_null = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
    assert!(errors.iter().any(|row| has_null(&row["error"])));

    let after = contents(&url).await;
    let mut changed = 0;
    for ((table, was), (_, is)) in before.tables().zip(after.tables()) {
        assert_eq!(was.len(), is.len(), "{table}");
        for (was, is) in was.iter().zip(is) {
            // The rules change only runs that have not ended.
            if table == "runs" && was["status"] != is["status"] {
                changed += 1;
                continue;
            }
            for (column, was) in was {
                // Postgres has no texts with a null character.
                let expected = was.as_ref().map(|text| text.replace('\0', "\u{FFFD}"));
                assert_eq!(is[column], expected, "{table}.{column}");
            }
        }
    }
    assert_eq!(changed, 3, "the running runs");
}

#[tokio::test]
async fn the_moved_store_answers_as_the_file_did() {
    let scene = richly_filled::<FileFixture>().await;
    let stored = scene.store().lease_key(&LeaseKey::new([7; 32])).await;
    stored.unwrap();
    let url = migrated().await;
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let own = PlanKey::new([9; 32]);
    assert_eq!(store.plan_key(&own).await.unwrap(), own);
    let before = moved(&mut open(scene.fixture()).await, &url).await;
    let file = scene.store();
    // The fingerprints of plans keep their meaning.
    let key = store.plan_key(&own).await.unwrap();
    assert_eq!(key, file.plan_key(&own).await.unwrap());
    assert_ne!(key, own);
    // Without leases that could have secrets, a cluster makes a key of its own.
    let [was, new] = [7, 8].map(|byte| LeaseKey::new([byte; 32]));
    assert_eq!(file.lease_key(&new).await.unwrap(), was);
    assert_eq!(store.lease_key(&new).await.unwrap(), new);
    assert_eq!(store.tasks().await.unwrap(), file.tasks().await.unwrap());
    let (mut is, was) = tokio::try_join!(store.task_states(None), file.task_states(None)).unwrap();
    for (is, was) in is.iter_mut().zip(&was) {
        for (is, was) in is.events.iter_mut().zip(&was.events) {
            is.error.clone_from(&was.error);
        }
    }
    assert_eq!(is, was);
    for run in before.column::<RunId>("runs", "id") {
        let (is, was) = tokio::try_join!(store.run(run), file.run(run)).unwrap();
        let (is, was) = (is.unwrap(), was.unwrap());
        if was.status == RunStatus::Running {
            assert_eq!(is.attempts, was.attempts - 1);
        } else {
            assert_eq!(is, was);
            let (is, was) = tokio::try_join!(store.attempts(run), file.attempts(run)).unwrap();
            assert_eq!(is, was);
        }
        let (is, was) =
            tokio::try_join!(store.recorded_plan(run), file.recorded_plan(run)).unwrap();
        assert_eq!(is, was);
        let page = store.read_log(run, 0, 100).await.unwrap().unwrap();
        let page_before = file.read_log(run, 0, 100).await.unwrap().unwrap();
        assert_eq!(page.lines, page_before.lines);
    }
    for hash in before.column::<Digest>("inputs", "hash") {
        let (is, was) = tokio::try_join!(store.input(hash), file.input(hash)).unwrap();
        assert!(is.is_some() && is == was);
    }
    let hashes: Vec<Digest> = before.column("contents", "hash");
    let (is, was) = tokio::try_join!(store.contents(&hashes), file.contents(&hashes)).unwrap();
    let [is, was] = [is, was].map(|contents| {
        contents
            .into_iter()
            .map(|it| (it.hash, it.bytes))
            .collect::<BTreeSet<_>>()
    });
    assert_eq!(is.len(), hashes.len());
    assert_eq!(is, was);
    for hash in before.column::<Digest>("bundles", "hash") {
        let (is, was) = tokio::try_join!(store.bundle(hash), file.bundle(hash)).unwrap();
        assert!(is.is_some() && is == was);
    }
}

#[tokio::test]
async fn runs_that_were_running_are_leased_again_with_a_later_epoch() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    moved(&mut open(scene.fixture()).await, &url).await;
    let busy = "SELECT max(epoch) FROM runs WHERE task_name = 'busy'";
    let epoch = number(&url, busy).await.unsigned_abs();

    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let mut leased = Vec::new();
    execute(&url, DUE).await;
    let applies = Claim {
        kinds: RunKinds::APPLIES,
        ..claim()
    };
    while let Some(lease) = store.acquire(&applies).await.unwrap() {
        if lease.task == task("busy") {
            assert!(lease.epoch.get() > epoch, "{lease:?}");
            assert_eq!(lease.attempt, 1);
        }
        leased.push(lease);
    }
    let names: BTreeSet<_> = leased.iter().map(|lease| lease.task.as_str()).collect();
    let expected = ["busy", "made", "overtaken", "planned", "steady", "été"];
    assert_eq!(names, expected.into());

    // New events come after the earlier ones.
    for lease in &leased {
        let completed = store.complete(applied(lease)).await;
        let event = completed.unwrap().event.unwrap();
        let state = store.task_state(&lease.task).await.unwrap().unwrap();
        let newest = Event {
            // Stored from the row of the run.
            cause: None,
            ..state.events[0].clone()
        };
        assert_eq!(newest, event);
    }
}

#[tokio::test]
async fn a_database_arrives_in_another_as_it_is() {
    let scene = richly_filled::<FileFixture>().await;
    let (first, second) = (migrated().await, migrated().await);
    moved(&mut open(scene.fixture()).await, &first).await;
    let store = cts_store_postgres::connect(&settings(&first))
        .await
        .unwrap();
    execute(&first, DUE).await;
    let lease = store.acquire(&claim()).await.unwrap().unwrap();
    let export = export(&settings(&first)).await;
    let before = moved(&mut export.unwrap(), &second).await;
    let ids: Vec<RunId> = before.column("runs", "id");
    let statuses: Vec<String> = before.column("runs", "status");
    let running = statuses
        .iter()
        .position(|status| status == "running")
        .unwrap();
    assert_eq!(ids[running], lease.run);
    let released = "UPDATE runs SET status = 'queued', attempts = attempts - 1, holder = NULL, expires_at = NULL
                    WHERE status = 'running'";
    execute(&first, released).await;
    assert_eq!(contents(&second).await, contents(&first).await);
}

#[tokio::test]
async fn a_database_that_has_something_is_refused() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    check_empty(&settings(&url)).await.unwrap();
    let mut source = open(scene.fixture()).await;
    let before = moved(&mut source, &url).await;
    let expected = NotEmpty {
        tasks: before.column::<String>("tasks", "name").len() as u64,
        runs: before.column::<RunId>("runs", "id").len() as u64,
    };
    assert_eq!(not_empty(check_empty(&settings(&url)).await), expected);
    let begun = PostgresImport::begin(&settings(&url)).await;
    assert_eq!(not_empty(begun), expected);
}

#[tokio::test]
async fn uncommitted_import_leaves_no_rows() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    let mut source = open(scene.fixture()).await;
    let mut import = PostgresImport::begin(&settings(&url)).await.unwrap();
    import.copy(&mut source, |_, _| ()).await.unwrap();
    drop(import);
    // Waits until the server has noticed.
    let again = moved(&mut source, &url).await;
    assert!(!again.column::<RunId>("runs", "id").is_empty());
}

#[tokio::test]
async fn second_of_two_parallel_imports_is_refused() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    let mut source = open(scene.fixture()).await;
    let mut import = PostgresImport::begin(&settings(&url)).await.unwrap();
    import.copy(&mut source, |_, _| ()).await.unwrap();
    let settings = settings(&url);
    let (second, committed) = tokio::join!(PostgresImport::begin(&settings), import.commit());
    committed.unwrap();
    assert!(not_empty(second).runs > 0);
}

#[tokio::test]
async fn writers_of_every_moving_table_wait_during_a_move() {
    let url = migrated().await;
    let import = PostgresImport::begin(&settings(&url)).await.unwrap();
    for table in TABLES {
        let mut writer = PgConnection::connect(&url).await.unwrap();
        let write = format!("LOCK TABLE {} IN ROW EXCLUSIVE MODE NOWAIT", table.name);
        sqlx::raw_sql("BEGIN").execute(&mut writer).await.unwrap();
        let refused = sqlx::raw_sql(AssertSqlSafe(write))
            .execute(&mut writer)
            .await;
        let refused = refused.map(drop).map_err(sqlx::Error::into_database_error);
        let code = refused
            .err()
            .flatten()
            .and_then(|error| error.code().map(String::from));
        assert_eq!(code.as_deref(), Some("55P03"), "{}", table.name);
    }
    import.commit().await.unwrap();
}

/// Run it alone, with `--ignored --nocapture` and in release.
#[tokio::test]
#[ignore = "measures"]
async fn a_hundred_thousand_runs() {
    let scene = richly_filled::<FileFixture>().await;
    scene.fixture().multiply(100_000).await;
    let url = migrated().await;
    let mut source = open(scene.fixture()).await;
    let begun = tokio::time::Instant::now();
    let mut import = PostgresImport::begin(&settings(&url)).await.unwrap();
    let counts = import.copy(&mut source, |_, _| ()).await.unwrap();
    import.commit().await.unwrap();
    println!("{counts:?} in {:?}", begun.elapsed());
}
