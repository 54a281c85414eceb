//! `cts migrate`: the schema of the Postgres database, moving from one store to another, and the mark of a restored
//! database.

mod moving;
mod place;
mod restored;
mod schema;

pub(crate) use self::place::{Source, source};

use crate::failure::Failure;
use crate::place_error::PlaceError;
use cts_cli::{Migrate, say};
use cts_runtime::ProcessEnv;

/// Runs the command and returns the exit code. Signals are not handled: ending the process undoes everything that is not committed.
pub(crate) async fn run(command: Migrate, process_env: &ProcessEnv) -> Result<u8, Failure> {
    let (dry_run, output) = (command.dry_run, command.output.output);
    let from = command.from.as_deref();
    let source = from
        .map(|from| place::file(from, process_env))
        .transpose()?;
    match (source, place::target(&command, process_env)?) {
        (None, Source::Server(settings)) if command.restored => {
            restored::server(&settings, dry_run, output).await?;
        }
        (None, Source::File(file)) if command.restored => {
            restored::file(&file, process_env, dry_run, output).await?;
        }
        (None, Source::Server(settings)) => {
            schema::bring_up_to_date(&settings, dry_run, output).await?;
        }
        (Some(file), Source::Server(settings)) => {
            let boot = process_env.boot.as_deref();
            moving::run(&file, boot, &settings, dry_run, output).await?;
        }
        (None, Source::File(_)) => {
            say(
                "the configuration names no database: the SQLite file in the working directory \
                 is brought up to date by `cts start`",
            );
            schema::nothing(dry_run, output)?;
        }
        (Some(_), Source::File(_)) => return Err(PlaceError::NoDatabase.into()),
    }
    Ok(0)
}
