//! `cts archive`: what resets of the storage have removed, read from the database itself.

use cts_cli::{ArchiveCommand, Output, TableWidth, local_time, print, short_id, table};
use cts_core::ArchiveId;
use cts_runtime::ProcessEnv;
use cts_store::{Archive, ArchivedRow, Store as _, StoreError};
use cts_store_postgres::PostgresStore;
use cts_store_sqlite::SqlExport;
use serde_json::{Value, json};

use crate::commands::migrate::Source;
use crate::failure::Failure;

/// Rows read at once.
const PAGE: u32 = 500;

/// Characters of an id that a table shows at least.
const ID_SHOWN: usize = 13;

/// A store that is read.
enum Reader {
    File(SqlExport),
    Server(Box<PostgresStore>),
}

impl Reader {
    async fn open(source: Source, process_env: &ProcessEnv) -> Result<Self, Failure> {
        match source {
            Source::File(path) => {
                let boot = process_env.boot.as_deref();
                Ok(Self::File(cts_store_sqlite::export(&path, boot).await?))
            }
            Source::Server(settings) => {
                let store = cts_store_postgres::connect(&settings).await?;
                Ok(Self::Server(Box::new(store)))
            }
        }
    }

    async fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        match self {
            Self::File(file) => file.archives().await,
            Self::Server(store) => store.archives().await,
        }
    }

    async fn rows(&mut self, id: ArchiveId, after: u64) -> Result<Vec<ArchivedRow>, StoreError> {
        match self {
            Self::File(file) => file.archived_rows(id, after, PAGE).await,
            Self::Server(store) => store.archived_rows(id, after, PAGE).await,
        }
    }
}

/// Runs the command and returns the exit code. Changes nothing, so it may run while cts works.
pub(crate) async fn run(command: ArchiveCommand, process_env: &ProcessEnv) -> Result<u8, Failure> {
    let place = match &command {
        ArchiveCommand::List { place, .. } | ArchiveCommand::Show { place, .. } => place,
    };
    let source = Source::named(place, process_env)?;
    let mut reader = Reader::open(source, process_env).await?;
    match command {
        ArchiveCommand::List { output, wide, .. } => {
            let archives = reader.archives().await?;
            print(
                &output
                    .output
                    .text(|| listing(&archives, wide.width()), || document(&archives)),
            )?;
        }
        ArchiveCommand::Show { id, output, .. } => show(&mut reader, &id, output.output).await?,
    }
    Ok(0)
}

/// The archives, with numbers below each other.
fn listing(archives: &[Archive], width: TableWidth) -> String {
    if archives.is_empty() {
        return "nothing was removed by a reset\n".to_owned();
    }
    let ids: Vec<String> = archives.iter().map(|it| it.id.to_string()).collect();
    let rows = archives.iter().zip(&ids).map(|(archive, id)| {
        let shown = if width.shortens() {
            short_id(id, &ids, ID_SHOWN)
        } else {
            id
        };
        [
            shown.to_owned(),
            local_time(archive.created_at.fixed_offset()),
            format!("{:>6}", archive.tasks),
            format!("{:>6}", archive.runs),
            format!("{:>8}", archive.rows),
        ]
    });
    let header = ["ID", "CREATED", " TASKS", "  RUNS", "    ROWS"];
    table(header, rows, width)
}

fn document(archives: &[Archive]) -> Value {
    let archives = archives.iter().map(|archive| {
        json!({
            "id": archive.id,
            "created_at": archive.created_at.to_rfc3339(),
            "tasks": archive.tasks,
            "runs": archive.runs,
            "rows": archive.rows,
        })
    });
    json!({ "archives": archives.collect::<Vec<_>>() })
}

/// Prints one line for each row, page by page, because an archive may be large.
async fn show(reader: &mut Reader, beginning: &str, output: Output) -> Result<(), Failure> {
    let known = reader.archives().await?;
    let id = choose(&known, beginning)?;
    let mut after = 0;
    loop {
        let rows = reader.rows(id, after).await?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.position;
        let lines = rows.iter().map(|row| line(row, output));
        print(&lines.collect::<String>())?;
    }
}

fn line(row: &ArchivedRow, output: Output) -> String {
    match output {
        Output::Table => format!("{} {}\n", row.table, row.content),
        Output::Json => {
            let content = serde_json::from_str::<Value>(&row.content);
            let content = content.unwrap_or_else(|_| Value::from(row.content.as_str()));
            format!("{}\n", json!({ "table": row.table, "row": content }))
        }
    }
}

/// The only archive whose id begins with `beginning`.
fn choose(known: &[Archive], beginning: &str) -> Result<ArchiveId, Failure> {
    let fits: Vec<ArchiveId> = known
        .iter()
        .map(|archive| archive.id)
        .filter(|id| id.to_string().starts_with(beginning))
        .collect();
    match fits.as_slice() {
        [only] => Ok(*only),
        [] => Err(Failure::Call(format!(
            "there is no archive {beginning:?}; `cts archive list` shows them"
        ))),
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::Call(format!(
                "{beginning:?} is the beginning of {} archives: {}",
                several.len(),
                ids.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;

    fn archive(number: u128) -> Archive {
        Archive {
            id: ArchiveId::from_uuid(Uuid::from_u128(number << 96)),
            created_at: DateTime::UNIX_EPOCH,
            tasks: 2,
            runs: 30,
            rows: 400,
        }
    }

    #[test]
    fn an_archive_is_named_by_the_beginning_of_its_id() {
        let known = [archive(0x1234_5678), archive(0x1299_0000)];
        assert_eq!(choose(&known, "1234").unwrap(), known[0].id);
        let full = known[1].id.to_string();
        assert_eq!(choose(&known, &full).unwrap(), known[1].id);
        for unclear in ["12", "", "x", "\u{1b}[31m"] {
            let refused = choose(&known, unclear).unwrap_err().to_string();
            assert!(!refused.contains('\u{1b}'), "{refused}");
        }
    }

    #[test]
    fn archives_are_one_line_each() {
        let text = listing(&[archive(1), archive(2)], TableWidth::Whole);
        assert_eq!(text.lines().count(), 3);
        let created = local_time(DateTime::UNIX_EPOCH.fixed_offset());
        let row = format!("{created}       2      30       400");
        assert!(text.contains(&row), "{text}");
        assert_eq!(listing(&[], TableWidth::Whole).lines().count(), 1);
    }

    #[test]
    fn rows_keep_what_they_hold() {
        let row = ArchivedRow {
            position: 1,
            table: "log_lines".to_owned(),
            content: r#"{"line":"a \u001b[31m \"b\""}"#.to_owned(),
        };
        for output in [Output::Table, Output::Json] {
            let line = line(&row, output);
            assert_eq!(line.lines().count(), 1);
            assert!(!line.contains('\u{1b}'), "{line}");
            assert!(line.contains(r#"\"b\""#), "{line}");
        }
    }
}
