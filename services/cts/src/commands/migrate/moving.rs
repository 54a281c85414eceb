//! Moving everything from a file into Postgres.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_cli::{Output, print};
use cts_store_postgres::{
    AppliedMigration, PostgresImport, Settings, check_empty, migrate, pending,
};
use cts_store_sqlite::{Counts, SqlExport};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::schema;
use crate::failure::Failure;
use crate::services::lock::{DirectoryLock, Use};

/// Between two words about how far it is.
const PROGRESS: Duration = Duration::from_millis(500);

/// Moves the content of the file, or reports the content that would be moved.
///
/// No other process may use the file during the move, which the lock of its directory guarantees. The database must be
/// empty; everything that is written to the database except the schema is one transaction.
pub(super) async fn run(
    file: &Path,
    boot: Option<&str>,
    settings: &Settings,
    dry_run: bool,
    output: Output,
) -> Result<(), Failure> {
    let file = existing(file)?;
    let _lock = file
        .parent()
        .map(|directory| DirectoryLock::take(directory, Use::Database))
        .transpose()?;
    let mut source = cts_store_sqlite::export(&file, boot).await?;
    check_empty(settings).await?;
    let (migrations, counts) = if dry_run {
        let migrations = pending(settings).await?;
        let counts = source.counts().await?;
        (migrations, counts)
    } else {
        let migrations = migrate(settings).await?;
        (migrations, fill(&mut source, settings).await?)
    };
    source.close().await?;
    print(&output.text(
        || table(&migrations, &counts, dry_run),
        || document(&migrations, &counts, dry_run),
    ))?;
    Ok(())
}

/// The file, which must exist: neither the file nor its directory is made here.
pub(super) fn existing(file: &Path) -> Result<PathBuf, Failure> {
    let failed = |source| Failure::Path {
        path: file.to_owned(),
        source,
    };
    let path = std::fs::canonicalize(file).map_err(failed)?;
    if path.is_file() {
        Ok(path)
    } else {
        Err(failed(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a file; the file of `cts start` is cts.db in its working directory",
        )))
    }
}

async fn fill(source: &mut SqlExport, settings: &Settings) -> Result<Counts, Failure> {
    let expected = source.counts().await?;
    let mut import = PostgresImport::begin(settings).await?;
    let mut progress = Progress::new(expected);
    let counts = import.copy(source, |table, rows| progress.show(table, rows));
    let counts = counts.await?;
    import.commit().await?;
    Ok(counts)
}

/// Shows the progress on a terminal; programs get the result alone.
struct Progress {
    expected: Counts,
    shown: Option<Instant>,
}

impl Progress {
    fn new(expected: Counts) -> Self {
        Self {
            expected,
            shown: io::stderr().is_terminal().then(Instant::now),
        }
    }

    fn show(&mut self, table: &str, rows: u64) {
        let due = self.shown.is_some_and(|shown| shown.elapsed() >= PROGRESS);
        let expected = self.expected.iter().find(|(name, _rows)| *name == table);
        if due && let Some((_name, all)) = expected {
            self.shown = Some(Instant::now());
            drop(writeln!(io::stderr(), "{table}: {rows} of {all}"));
        }
    }
}

fn table(migrations: &[AppliedMigration], counts: &[(&str, u64)], dry_run: bool) -> String {
    let mut text = schema::lines(migrations, dry_run);
    text.push_str(if dry_run { "would move\n" } else { "moved\n" });
    for (name, rows) in counts {
        let line = format!("  {name:22} {rows:>10}\n");
        text.push_str(&line);
    }
    text
}

fn document(migrations: &[AppliedMigration], counts: &[(&str, u64)], dry_run: bool) -> Value {
    let rows = counts.iter();
    let rows = rows.map(|(name, rows)| ((*name).to_owned(), Value::from(*rows)));
    json!({
        "dry_run": dry_run,
        "schema": schema::schema_document(migrations, dry_run),
        "rows": rows.collect::<Map<_, _>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_a_line_for_each_table() {
        let counts = vec![("tasks", 0), ("runs", 100_000)];
        let text = table(&[], &counts, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["schema is up to date", "moved"]);
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[3], "  runs                       100000");
        assert!(table(&[], &counts, true).contains("would move"));
    }

    #[test]
    fn the_document_has_the_rows_of_each_table() {
        let migrations = [AppliedMigration {
            version: 7,
            description: "initial".to_owned(),
        }];
        let counts = vec![("tasks", 0), ("log_lines", 3)];
        let shown = document(&migrations, &counts, true);
        let expected = json!({
            "dry_run": true,
            "schema": { "pending": [{ "version": 7, "description": "initial" }] },
            "rows": { "tasks": 0, "log_lines": 3 },
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_file_that_is_missing_is_told_and_nothing_is_made() {
        let missing = Path::new("/nowhere/at/all/cts.db");
        assert!(matches!(existing(missing), Err(Failure::Path { .. })));
        assert!(matches!(
            existing(Path::new("/")),
            Err(Failure::Path { .. })
        ));
    }
}
