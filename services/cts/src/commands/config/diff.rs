//! `cts config diff`: how the tasks of a configuration differ from the stored ones, read from the database
//! itself.

mod compare;
mod members;
mod show;

use cts_config::Config;
use cts_store::StoreError;
use cts_store::transfer::Export;
use cts_store_postgres::PostgresExport;
use cts_store_sqlite::SqliteExport;
use tokio_stream::StreamExt as _;

pub(super) use self::compare::Comparison;
use self::compare::{InForce, Stored};
pub(super) use self::show::text;
use crate::cli::groups::{Configuration, Output};
use crate::commands::migrate::{Source, source};
use crate::commands::workers::print;
use crate::configuration::load;
use crate::failure::Failure;
use crate::process_env::ProcessEnv;
use crate::services::database;

/// There is a difference.
const DIFFERENT: u8 = 2;

/// Runs the command and returns the exit code. Nothing is changed, so it may run while cts works.
pub(crate) async fn run(
    configuration: &Configuration,
    store: Option<&str>,
    output: Output,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    if configuration.paths.is_empty() {
        return Ok(super::refuse_nothing("diff"));
    }
    let config = load(configuration, process_env)?;
    let place = place(&config, store, process_env)?;
    let comparison = compare(&config, &place, false, process_env).await?;
    print(&match output {
        Output::Table => show::text(&comparison),
        Output::Json => format!("{:#}\n", show::document(&comparison)),
    })?;
    Ok(if comparison.is_equal() { 0 } else { DIFFERENT })
}

/// The store that is named, or else that of the configuration. A file must be there.
pub(super) fn place(
    config: &Config,
    store: Option<&str>,
    process_env: &ProcessEnv,
) -> Result<Source, Failure> {
    let configured = match &config.database {
        Some(database) => Source::Server(database::settings(database)),
        None => Source::File(config.working_dir.join(database::FILE)),
    };
    Ok(match source(store, Some(configured), process_env)? {
        Source::File(path) => Source::File(
            std::fs::canonicalize(&path).map_err(|source| Failure::Path { path, source })?,
        ),
        server @ Source::Server(_) => server,
    })
}

/// With `prune`, tasks of the API that the configuration does not name are to go.
pub(super) async fn compare(
    config: &Config,
    place: &Source,
    prune: bool,
    process_env: &ProcessEnv,
) -> Result<Comparison, Failure> {
    let stored = match place {
        Source::File(path) => {
            let file = SqliteExport::open(path, process_env.boot.as_deref()).await;
            stored(file.map_err(Failure::Store)?).await
        }
        Source::Server(settings) => {
            let server = PostgresExport::begin(settings).await;
            stored(server.map_err(Failure::Store)?).await
        }
    };
    let stored = stored.map_err(Failure::Store)?;
    Comparison::of(&config.tasks, &stored, prune).map_err(not_encoded)
}

/// The stored tasks at one moment. Tasks that are being created or deleted are left out.
async fn stored(mut export: impl Export) -> Result<Stored, StoreError> {
    let configurations: Result<Vec<_>, _> = export.configurations().collect().await;
    let in_force = configurations?.into_iter().next().map(|row| InForce {
        number: row.number,
        decided_by: row.decided_by,
        decided_at: row.decided_at,
        fingerprint: serde_json::from_str(&row.fingerprint).ok(),
    });
    let deleted: Result<Vec<_>, _> = export.deleted_tasks().collect().await;
    let tasks: Result<Vec<_>, _> = export.tasks().collect().await;
    Ok(Stored {
        tasks: tasks?,
        deleted: deleted?
            .into_iter()
            .map(|row| (row.name, row.configured))
            .collect(),
        in_force,
    })
}

pub(super) fn not_encoded(error: serde_json::Error) -> Failure {
    Failure::Store(StoreError::Database {
        operation: "encode a task",
        source: error.into(),
    })
}
