//! Turns the words of a command line into a request.
//!
//! One executable has two names: as `cts` it has every command and option, as `consul-terraform-sync` those of that
//! program (docs/cli.md). Under both names the words are read by the original's rules, so that a script still works
//! after a change of the name alone. Commands and options are defined once, in `arguments`: `words` turns the words
//! into a spelling that clap reads, by clap's own definitions.
//!
//! Everything here is a function of its arguments.

pub(crate) mod definitions;
mod help;
pub(crate) mod invoked_as;
mod nearest;
mod route;
mod start;
#[cfg(test)]
mod tests;
mod usage;
pub(crate) mod version;
mod words;

use std::ffi::OsString;

use clap::FromArgMatches as _;

use self::definitions::{Definitions, Leaf};
use self::invoked_as::InvokedAs;
use self::route::Route;
use crate::answer::Answer;
use crate::arguments::{Arguments, Command};
use crate::original::install::Edit;

/// Meaning of a command line.
#[derive(Debug)]
pub(crate) enum Request {
    /// This answer, and nothing else.
    Answer(Answer),
    Version,
    /// Changing the files of the user's shells.
    ShellFiles(Edit),
    /// A command.
    Run {
        command: Box<Command>,
        /// Text for standard error before the command; may be empty.
        notice: String,
    },
}

/// Reads the words after the name of the program.
pub(crate) fn read(invoked_as: InvokedAs, words: Vec<OsString>) -> Request {
    let definitions = Definitions::new(invoked_as);
    match route::find(&definitions, words) {
        Route::Answer(answer) => Request::Answer(answer),
        Route::Version => Request::Version,
        Route::ShellFiles(edit) => Request::ShellFiles(edit),
        Route::Command { path, words } => {
            let leaf = definitions.leaf(&path);
            parse(&definitions, &leaf, &words).unwrap_or_else(Request::Answer)
        }
    }
}

/// The command, and the notices about its words.
fn parse(
    definitions: &Definitions,
    leaf: &Leaf<'_>,
    words: &[OsString],
) -> Result<Request, Answer> {
    let read = words::read(leaf, words)
        .map_err(|error| help::bad_options(definitions, leaf, words, &error))?;
    let mut spelling: Vec<OsString> = vec![definitions.name().into()];
    spelling.extend(leaf.path().iter().map(OsString::from));
    spelling.extend(read.options);
    spelling.push("--".into());
    spelling.extend(read.positionals);
    let parsed = definitions
        .all()
        .clone()
        .try_get_matches_from(spelling)
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
    let arguments = parsed.map_err(|error| help::refused(definitions, leaf, words, &error))?;
    let silent = definitions.invoked_as() == InvokedAs::Original;
    let notice = if silent { String::new() } else { read.notice };
    let warning = start::check(definitions, &arguments.command)?;
    Ok(Request::Run {
        command: Box::new(arguments.command),
        notice: notice + &warning,
    })
}
