//! `cts migrate`: the schema of the Postgres database, and moving from one store to another.

mod moving;
mod place;
mod schema;

pub(crate) use self::place::{PlaceError, Source, source};

use self::place::Target;
use crate::arguments::Migrate;
use crate::failure::Failure;
use crate::program::say;
use crate::surroundings::Surroundings;

/// Runs the command. It has no signals of its own: whoever ends it undoes what is not committed.
pub(crate) async fn run(command: Migrate, surroundings: &Surroundings) -> Result<(), Failure> {
    let from = command.from.as_deref();
    let source = from
        .map(|from| place::file(from, surroundings))
        .transpose()?;
    match (source, place::target(&command, surroundings)?) {
        (None, Target::Server(settings)) => {
            schema::bring_up_to_date(&settings, command.dry_run, command.output).await
        }
        (Some(file), Target::Server(settings)) => {
            let boot = surroundings.boot.as_deref();
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
