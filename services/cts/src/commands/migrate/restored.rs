//! `cts migrate -restored`: the mark of a restored database (docs/operations.md#after-a-restore).

use std::path::Path;
use std::sync::Arc;

use cts_cli::{Output, print};
use cts_runtime::ProcessEnv;
use cts_store::{Restoration, RestoredStore as _};
use cts_store_postgres::{AppliedMigration, Settings, connect, migrate, pending};
use cts_store_sqlite::SqliteStore;
use serde_json::{Value, json};

use super::moving::existing;
use super::schema;
use crate::failure::Failure;
use crate::services::lock::{DirectoryLock, Use};

/// Brings the schema of Postgres up to date, and marks the database.
pub(super) async fn server(
    settings: &Settings,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    let migrations = if dry_run {
        pending(settings).await?
    } else {
        migrate(settings).await?
    };
    // Before pending migrations nothing can be counted.
    let restoration = if dry_run && !migrations.is_empty() {
        None
    } else {
        let store = connect(settings).await?;
        let restoration = if dry_run {
            store.restoration().await
        } else {
            store.mark_restored().await
        };
        store.close().await;
        Some(restoration?)
    };
    show(&migrations, restoration, dry_run, output)
}

/// Marks the file of a `cts start` that does not run.
pub(super) async fn file(
    file: &Path,
    process_env: &ProcessEnv,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    let file = existing(file)?;
    let _lock = file
        .parent()
        .map(|directory| DirectoryLock::take(directory, Use::Database))
        .transpose()?;
    let clock = Arc::clone(&process_env.clock);
    let (store, restoration): (SqliteStore, _) = if dry_run {
        let store = cts_store_sqlite::attach(&file, clock).await?;
        let restoration = store.restoration().await;
        (store, restoration)
    } else {
        let store = cts_store_sqlite::open(&file, clock, process_env.boot.as_deref()).await?;
        let restoration = store.mark_restored().await;
        (store, restoration)
    };
    store.close().await;
    show(&[], Some(restoration?), dry_run, output)
}

fn show(
    migrations: &[AppliedMigration],
    restoration: Option<Restoration>,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    print(&output.text(
        || schema::lines(migrations, dry_run) + &line(restoration, dry_run),
        || document(migrations, restoration, dry_run),
    ))?;
    Ok(())
}

fn line(restoration: Option<Restoration>, dry_run: bool) -> String {
    let Some(Restoration {
        inputs,
        runs,
        leader_epoch,
    }) = restoration
    else {
        return "would mark the database as restored, once its schema is up to date\n".to_owned();
    };
    if dry_run {
        return format!(
            "would mark the database as restored\n  last inputs that would not count: {inputs}\n  open runs with a new \
             epoch: {runs}\n  epoch of the leader now: {leader_epoch}\n"
        );
    }
    format!(
        "marked the database as restored: every task runs once\n  last inputs that do not count any more: {inputs}\n  open \
         runs with a new epoch: {runs}\n  epoch of the leader: {leader_epoch}\n"
    )
}

fn document(
    migrations: &[AppliedMigration],
    restoration: Option<Restoration>,
    dry_run: bool,
) -> Value {
    let restored = restoration
        .map(|it| json!({ "inputs": it.inputs, "runs": it.runs, "leader_epoch": it.leader_epoch }));
    json!({
        "dry_run": dry_run,
        "schema": schema::schema_document(migrations, dry_run),
        "restored": restored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESTORATION: Restoration = Restoration {
        inputs: 12,
        runs: 3,
        leader_epoch: 1_000_007,
    };

    #[test]
    fn the_summary_says_what_does_not_count_any_more() {
        let text = line(Some(RESTORATION), false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  last inputs that do not count any more: 12");
        assert_eq!(lines[3], "  epoch of the leader: 1000007");
        assert!(line(Some(RESTORATION), true).starts_with("would mark"));
        assert!(line(None, true).contains("once its schema is up to date"));
    }

    #[test]
    fn the_document_has_the_numbers() {
        let shown = document(&[], Some(RESTORATION), true);
        let expected = json!({
            "dry_run": true,
            "schema": { "pending": [] },
            "restored": { "inputs": 12, "runs": 3, "leader_epoch": 1_000_007 },
        });
        assert_eq!(shown, expected);
        assert!(document(&[], None, true)["restored"].is_null());
    }
}
