//! Everything moves: out of a file or a database, into a database.

mod file;
mod rules;

use std::collections::BTreeSet;

use cts_core::Event;
use cts_core::lease::LeaseKey;
use cts_core::runs::{RunKinds, RunStatus};
use cts_store::transfer::{Export, Import as _, NotEmpty, Table, copy};
use cts_store::{Claim, HeldLeases as _, Store, StoreError};
use cts_store_conformance::transfer::{Contents, richly_filled};
use cts_store_conformance::{claim, task};
use cts_store_postgres::{PostgresImport, check_empty, export};
use cts_store_sqlite::SqlExport;

use self::file::{BOOT, FileFixture};
use crate::fixture::{execute, migrated, settings};
use crate::outage::applied;

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
async fn moved(source: &mut dyn Export, url: &str) -> Contents {
    let before = Contents::of(source).await;
    let mut import = Box::new(PostgresImport::begin(&settings(url)).await.unwrap());
    let mut told = Vec::new();
    let counts = copy(source, &mut *import, |table, rows| told.push((table, rows)));
    let counts = counts.await.unwrap();
    assert_eq!(counts, before.counts());
    let all = Table::ALL.map(|table| (table, counts.of(table)));
    let filled: Vec<_> = all.into_iter().filter(|(_, rows)| *rows > 0).collect();
    assert_eq!(told, filled, "each table is one page here");
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

    let statuses: BTreeSet<_> = before.runs.iter().map(|run| run.status.as_str()).collect();
    let expected = ["cancelled", "failed", "queued", "succeeded"];
    assert_eq!(statuses, expected.into());
    assert!(before.runs.iter().any(|run| run.epoch.get() > 2));
    assert!(before.tasks.iter().any(|task| task.failures == 1));
    assert!(before.tasks.iter().any(|task| task.skipped == 8));
    assert_eq!(before.tick_events.len(), 5);
    assert!(before.events.len() >= 4, "{}", before.events.len());
    let longest = before.log_lines.iter().map(|row| row.line.text.len());
    assert_eq!(longest.max(), Some(64 * 1024));

    let mut after = contents(&url).await;
    // Postgres has no texts with a null character.
    for (was, is) in before.events.iter().zip(&mut after.events) {
        if let (Some(was), Some(is)) = (&was.event.error, &mut is.event.error) {
            assert!(was.contains('\0') && !is.contains('\0'));
            assert_eq!(was.replace('\0', "\u{FFFD}"), *is);
            is.clone_from(was);
        }
    }
    assert_eq!(after, before);
}

#[tokio::test]
async fn the_moved_store_answers_as_the_file_did() {
    let scene = richly_filled::<FileFixture>().await;
    let stored = scene.store().lease_key(&LeaseKey::new([7; 32])).await;
    stored.unwrap();
    let url = migrated().await;
    let before = moved(&mut open(scene.fixture()).await, &url).await;
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let file = scene.store();
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
    for row in &before.runs {
        let (is, was) = tokio::try_join!(store.run(row.id), file.run(row.id)).unwrap();
        let (is, was) = (is.unwrap(), was.unwrap());
        if was.status == RunStatus::Running {
            assert_eq!(is.attempts, was.attempts - 1);
        } else {
            assert_eq!(is, was);
            let (is, was) =
                tokio::try_join!(store.attempts(row.id), file.attempts(row.id)).unwrap();
            assert_eq!(is, was);
        }
        let page = store.read_log(row.id, 0, 100).await.unwrap().unwrap();
        let page_before = file.read_log(row.id, 0, 100).await.unwrap().unwrap();
        assert_eq!(page.lines, page_before.lines);
    }
    for row in &before.inputs {
        let input = store.input(row.hash).await.unwrap();
        assert_eq!(input.as_ref(), Some(&row.input));
    }
    for row in &before.of_inputs {
        let contents = store.contents(&[row.content.hash]).await.unwrap();
        assert_eq!(contents, std::slice::from_ref(&row.content));
    }
    for row in &before.bundles {
        let bytes = store.bundle(row.hash).await.unwrap();
        assert_eq!(bytes.as_ref(), Some(&row.bytes));
    }
}

#[tokio::test]
async fn runs_that_were_running_are_leased_again_with_a_later_epoch() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    let before = moved(&mut open(scene.fixture()).await, &url).await;
    let of = |name: &str| {
        let runs = before.runs.iter().filter(|run| run.task == task(name));
        runs.map(|run| (run.status, run.epoch)).collect::<Vec<_>>()
    };
    let busy = of("busy");
    assert_eq!(busy.len(), 1);
    assert_eq!(busy[0].0, RunStatus::Queued);
    let overtaken: Vec<_> = of("overtaken").into_iter().map(|run| run.0).collect();
    assert_eq!(overtaken, [RunStatus::Cancelled, RunStatus::Queued]);

    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let mut leased = Vec::new();
    execute(&url, DUE).await;
    let applies = Claim {
        kinds: RunKinds::APPLIES,
        ..claim()
    };
    while let Some(lease) = store.acquire(&applies).await.unwrap() {
        if lease.task == task("busy") {
            assert!(lease.epoch > busy[0].1, "{lease:?}");
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
    let row = before.runs.iter().find(|row| row.id == lease.run).unwrap();
    assert_eq!((row.status, row.epoch), (RunStatus::Queued, lease.epoch));
    assert_eq!(contents(&second).await, before);
}

#[tokio::test]
async fn a_database_that_has_something_is_refused() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    check_empty(&settings(&url)).await.unwrap();
    let mut source = open(scene.fixture()).await;
    let before = moved(&mut source, &url).await;
    let expected = NotEmpty {
        tasks: before.tasks.len() as u64,
        runs: before.runs.len() as u64,
    };
    assert_eq!(not_empty(check_empty(&settings(&url)).await), expected);
    let begun = PostgresImport::begin(&settings(&url)).await;
    assert_eq!(not_empty(begun), expected);
}

#[tokio::test]
async fn what_is_not_committed_has_not_happened() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    let mut source = open(scene.fixture()).await;
    let mut import = PostgresImport::begin(&settings(&url)).await.unwrap();
    copy(&mut source, &mut import, |_, _| ()).await.unwrap();
    drop(import);
    // Waits until the server has noticed.
    let again = moved(&mut source, &url).await;
    assert!(!again.runs.is_empty());
}

#[tokio::test]
async fn of_two_that_move_at_the_same_time_one_is_refused() {
    let scene = richly_filled::<FileFixture>().await;
    let url = migrated().await;
    let mut source = open(scene.fixture()).await;
    let mut import = Box::new(PostgresImport::begin(&settings(&url)).await.unwrap());
    copy(&mut source, &mut *import, |_, _| ()).await.unwrap();
    let settings = settings(&url);
    let (second, committed) = tokio::join!(PostgresImport::begin(&settings), import.commit());
    committed.unwrap();
    assert!(not_empty(second).runs > 0);
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
    let mut import = Box::new(PostgresImport::begin(&settings(&url)).await.unwrap());
    let counts = copy(&mut source, &mut *import, |_, _| ()).await.unwrap();
    import.commit().await.unwrap();
    println!("{counts:?} in {:?}", begun.elapsed());
    assert!(counts.of(Table::Runs) > 100_000);
}
