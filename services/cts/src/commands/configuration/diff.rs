//! `cts config diff`: differences between the tasks of a configuration and the stored tasks, read from the database
//! itself.

mod compare;
mod members;
mod show;

use cts_cli::{CommandError, Diff, EXIT_DIFFERENT, load, print};
use cts_config::Config;
use cts_runtime::ProcessEnv;
use cts_store::StoreError;

pub(super) use self::compare::Comparison;
pub(super) use self::show::text;
use crate::commands::migrate::{Source, source};
use crate::failure::Failure;

/// Runs the command and returns the exit code. Changes nothing, so it may run while cts works.
pub(super) async fn run(diff: &Diff, process_env: &ProcessEnv) -> Result<u8, Failure> {
    if diff.configuration.paths.is_empty() {
        return Ok(CommandError::NoConfiguration.report());
    }
    let config = load(&diff.configuration, process_env)?;
    let place = place(&config, diff.store.as_deref(), process_env)?;
    let comparison = compare(&config, &place, false, process_env).await?;
    let output = diff.output.output;
    print(&output.text(|| show::text(&comparison), || show::document(&comparison)))?;
    Ok(if comparison.is_equal() {
        0
    } else {
        EXIT_DIFFERENT
    })
}

/// Returns the named store, or else the store of the configuration. A file must exist.
pub(super) fn place(
    config: &Config,
    store: Option<&str>,
    process_env: &ProcessEnv,
) -> Result<Source, Failure> {
    source(store, Some(Source::configured(config)?), process_env)?.existing()
}

/// With `prune`, tasks of the API that the configuration does not name are deleted.
pub(super) async fn compare(
    config: &Config,
    place: &Source,
    prune: bool,
    process_env: &ProcessEnv,
) -> Result<Comparison, Failure> {
    let mut export = match place {
        Source::File(path) => cts_store_sqlite::export(path, process_env.boot.as_deref()).await?,
        Source::Server(settings) => cts_store_postgres::export(settings).await?,
    };
    let stored = export.declared().await?;
    Comparison::of(config, &stored, prune).map_err(not_encoded)
}

pub(super) fn not_encoded(error: serde_json::Error) -> Failure {
    Failure::Store(StoreError::Database {
        operation: "encode a task",
        source: error.into(),
    })
}
