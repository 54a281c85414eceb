//! `cts migrate`: the schema of the Postgres database, and moving from one store to another.

mod moving;
mod place;
pub(crate) mod place_error;
mod schema;

pub(crate) use self::place::{Source, source};

use self::place::Target;
use self::place_error::PlaceError;
use crate::cli::arguments::Migrate;
use crate::failure::Failure;
use crate::output::say;
use crate::process_env::ProcessEnv;

/// Runs the command. Signals are not handled: ending the process undoes everything that is not committed.
pub(crate) async fn run(command: Migrate, process_env: &ProcessEnv) -> Result<(), Failure> {
    let from = command.from.as_deref();
    let source = from
        .map(|from| place::file(from, process_env))
        .transpose()?;
    match (source, place::target(&command, process_env)?) {
        (None, Target::Server(settings)) => {
            schema::bring_up_to_date(&settings, command.dry_run, command.output).await
        }
        (Some(file), Target::Server(settings)) => {
            let boot = process_env.boot.as_deref();
            moving::run(&file, boot, &settings, command.dry_run, command.output).await
        }
        (None, Target::File) => {
            say(
                "the configuration names no database: the SQLite file in the working directory \
                 is brought up to date by `cts start`",
            );
            schema::nothing(command.dry_run, command.output)
        }
        (Some(_), Target::File) => Err(PlaceError::NoDatabase.into()),
    }
}
