//! Bringing the schema up to date.

use cts_cli::{Output, print};
use cts_store_postgres::{AppliedMigration, Settings, migrate, pending};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Applies the missing migrations, or only reports them.
pub(super) async fn bring_up_to_date(
    settings: &Settings,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    let migrations = if dry_run {
        pending(settings).await?
    } else {
        migrate(settings).await?
    };
    print(&output.text(
        || lines(&migrations, dry_run),
        || document(&migrations, dry_run),
    ))?;
    Ok(())
}

/// Prints that no schema has to be migrated; with `-o json` that is an empty list.
pub(super) fn nothing(dry_run: bool, output: Output) -> Result<(), Failure> {
    print(&output.text(String::new, || document(&[], dry_run)))?;
    Ok(())
}

pub(super) fn lines(migrations: &[AppliedMigration], dry_run: bool) -> String {
    if migrations.is_empty() {
        return "schema is up to date\n".to_owned();
    }
    let word = if dry_run { "pending" } else { "applied" };
    migrations.iter().fold(String::new(), |text, migration| {
        let AppliedMigration {
            version,
            description,
        } = migration;
        text + &format!("{word} {version} {description}\n")
    })
}

fn document(migrations: &[AppliedMigration], dry_run: bool) -> Value {
    json!({ "dry_run": dry_run, "schema": schema_document(migrations, dry_run) })
}

/// `{"applied": […]}` or `{"pending": […]}`.
pub(super) fn schema_document(migrations: &[AppliedMigration], dry_run: bool) -> Value {
    let migrations = migrations.iter().map(
        |migration| json!({ "version": migration.version, "description": migration.description }),
    );
    let word = if dry_run { "pending" } else { "applied" };
    json!({ word: migrations.collect::<Vec<_>>() })
}
