//! Events of OpenTofu: in addition to its plain output, each a line of JSON in a file (`-json-into`).

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

use cts_core::{Chain, EngineKind};
use semver::Version;

use crate::attempt::Attempt;
use crate::directory::{create_secret, remove_if_present};
use crate::error::FileError;
use crate::executable::Executable;
use crate::output::OutputSink;
use crate::step::Step;

/// The file in the task directory.
const NAME: &str = ".cts-events.ndjson";

/// The argument that names the file of events.
const ARGUMENT: &str = "-json-into=.cts-events.ndjson";

/// First version of OpenTofu with that argument.
const SINCE: Version = Version::new(1, 12, 0);

/// Most bytes of the file that are read.
const LONGEST_FILE: u64 = 64 * 1024 * 1024;

/// Longest line in bytes; longer lines are left out.
const LONGEST_LINE: u64 = 1024 * 1024;

/// The events of one command. The file exists until this value is dropped; only its owner may read the file, because it
/// contains outputs of provisioners.
///
/// A file is used and not a pipe, so that nothing stands still or fails when the reader is gone.
#[derive(Debug)]
pub(crate) struct JsonEvents {
    path: PathBuf,
    file: File,
}

impl JsonEvents {
    /// Makes the file, if the command can write events and has no further arguments about JSON.
    pub(crate) fn of(executable: &Executable, step: Step, attempt: &Attempt) -> Option<Self> {
        let further = match step {
            Step::Plan => "TF_CLI_ARGS_plan",
            Step::Apply => "TF_CLI_ARGS_apply",
            _ => return None,
        };
        if executable.engine() != EngineKind::OpenTofu || *executable.version() < SINCE {
            return None;
        }
        let mut further = ["TF_CLI_ARGS", further].into_iter();
        if further.any(|name| mentions_json(attempt, name)) {
            return None;
        }
        match Self::create(attempt.directory.path().join(NAME)) {
            Ok(events) => Some(events),
            Err(error) => {
                // Without the file the plain output is read.
                tracing::warn!(error = %Chain(&error), "there is no file for the events of a command");
                None
            }
        }
    }

    fn create(path: PathBuf) -> Result<Self, FileError> {
        // Replaces a file that a killed worker has left.
        let file = create_secret(&path)?;
        Ok(Self { path, file })
    }

    /// The argument that makes the command write events.
    pub(crate) const fn argument() -> &'static str {
        ARGUMENT
    }

    /// Passes the lines on when the command has ended.
    pub(crate) fn read(self, output: &dyn OutputSink) {
        let mut reader = BufReader::new((&self.file).take(LONGEST_FILE));
        let mut line = Vec::new();
        let mut is_rest = false;
        loop {
            line.clear();
            let mut piece = (&mut reader).take(LONGEST_LINE);
            match piece.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the events of a command cannot be read");
                    return;
                }
            }
            let ends = line.ends_with(b"\n");
            // A last line without an end was cut off, by its length or by a kill.
            if ends
                && !is_rest
                && let Ok(text) = std::str::from_utf8(&line)
            {
                output.event(text);
            }
            is_rest = !ends;
        }
    }
}

impl Drop for JsonEvents {
    fn drop(&mut self) {
        if let Err(error) = remove_if_present(&self.path) {
            tracing::warn!(error = %Chain(&error), "the events of a command are left behind");
        }
    }
}

fn mentions_json(attempt: &Attempt, name: &str) -> bool {
    let arguments = attempt.environment.get(name);
    arguments.is_some_and(|arguments| arguments.to_string_lossy().contains("-json"))
}
