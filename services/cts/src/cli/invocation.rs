//! Turns the words of a command line into a request.
//!
//! One executable has two names: as `cts` it has every command and option, as `consul-terraform-sync` the
//! ones of that program (docs/cli.md). Under both names the words are read by the original's rules, so that a
//! script keeps working when only the name in it is changed. Commands and options are defined once, in
//! `arguments`: [`Words`](words) turn into a spelling that clap reads, by clap's own definitions.
//!
//! Everything here is a function of its arguments, except the content of `install` and `completion`.

mod answer;
mod args;
pub(crate) mod completion;
mod definitions;
pub(crate) mod install;
pub(crate) mod man;
mod nearest;
mod original;
mod personality;
mod route;
mod start;
#[cfg(test)]
mod tests;
mod usage;
mod version;

use std::ffi::OsString;

use clap::FromArgMatches as _;

pub(crate) use self::answer::Answer;
pub(crate) use self::personality::InvokedAs;

use self::definitions::{Definitions, Leaf};
use self::install::Edit;
use self::route::Route;
use crate::cli::arguments::{Arguments, Command};

/// Meaning of a command line.
#[derive(Debug)]
pub(crate) enum Request {
    /// This answer, and nothing else.
    Answer(Answer),
    /// Changing the files of the user's shells.
    ShellFiles(Edit),
    /// A command.
    Run {
        /// It.
        command: Box<Command>,
        /// Text for standard error before the command; may be empty.
        notice: String,
    },
}

/// Reads the words after the name of the program.
pub(crate) fn read(personality: InvokedAs, words: Vec<OsString>) -> Request {
    let definitions = Definitions::new(personality);
    match route::find(&definitions, words) {
        Route::Answer(answer) => Request::Answer(answer),
        Route::ShellFiles(edit) => Request::ShellFiles(edit),
        Route::Command { path, words } => {
            let leaf = definitions.leaf(&path);
            match parse(&definitions, &leaf, &words) {
                Ok((command, notice)) => start::check(&definitions, command, notice),
                Err(answer) => Request::Answer(answer),
            }
        }
    }
}

/// The command, and what is to be said about its words.
fn parse(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[OsString],
) -> Result<(Command, String), Answer> {
    let read = args::read(leaf, words)
        .map_err(|error| usage::bad_options(definitions, leaf, words, &error))?;
    let mut spelling: Vec<OsString> = vec![definitions.name().into()];
    spelling.extend(leaf.path().iter().map(OsString::from));
    spelling.extend(read.options);
    spelling.push("--".into());
    spelling.extend(read.positionals);
    let parsed = definitions
        .root()
        .clone()
        .try_get_matches_from(spelling)
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
    match parsed {
        Ok(arguments) => {
            let silent = definitions.personality() == InvokedAs::Original;
            let notice = if silent { String::new() } else { read.notice };
            Ok((arguments.command, notice))
        }
        Err(error) => Err(usage::refused(definitions, leaf, &error)),
    }
}
