//! Problems in the words of the original's log, which filters of that log match (docs/cli.md#log).

use crate::report::problem::{Problem, Report};

/// Kinds of problems that the original words in its own way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// A value that cannot be used.
    #[default]
    Other,
    /// A file or directory that does not exist.
    MissingFile(String),
    /// A file that cannot be parsed.
    Syntax,
    /// A key that has no meaning.
    UnknownKey(String),
    /// The second task of a name.
    DuplicateTask(String),
    /// TLS of the API without its files.
    NoIdentity,
    /// A log level that does not exist.
    LogLevel(String),
}

/// The first problem of a report in the words of the original's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalError {
    /// Message about the file in question, and its path.
    pub file_message: Option<(&'static str, String)>,
    /// Message of the last line of the log.
    pub message: &'static str,
    /// Error of that line.
    pub sentence: String,
}

impl Report {
    /// The first problem in the words of the original's log.
    pub fn first_problem(&self) -> OriginalError {
        let Some(first) = self.problems().first() else {
            return OriginalError {
                file_message: None,
                message: BUILDING,
                sentence: String::new(),
            };
        };
        let file = first.file().unwrap_or_default().to_owned();
        let own = first.message().to_owned();
        let (file_message, message, sentence) = match &first.kind {
            ProblemKind::MissingFile(path) => {
                let missing = ("missing file/folder", path.clone());
                (Some(missing), BUILDING, own)
            }
            ProblemKind::Syntax => {
                let failed = ("failed decoding content from file", file);
                (Some(failed), BUILDING, own)
            }
            ProblemKind::UnknownKey(_) => {
                let keys = self.unknown_keys_in(&file);
                let sentence = format!("'{file}' has invalid keys: {}", keys.join(", "));
                (None, BUILDING, sentence)
            }
            ProblemKind::DuplicateTask(name) => {
                (None, VALIDATING, format!("duplicate task name: {name}"))
            }
            ProblemKind::NoIdentity => (None, VALIDATING, NO_IDENTITY.to_owned()),
            ProblemKind::LogLevel(level) => (None, LOGGING, format!("Invalid log level: {level}")),
            ProblemKind::Other if first.file().is_none() => (None, BUILDING, own),
            ProblemKind::Other => (None, VALIDATING, own),
        };
        OriginalError {
            file_message,
            message,
            sentence,
        }
    }

    fn unknown_keys_in(&self, file: &str) -> Vec<&str> {
        let problems = self.problems().iter();
        let here = problems.filter(|problem| problem.file() == Some(file));
        let keys = here.filter_map(|Problem { kind, .. }| match kind {
            ProblemKind::UnknownKey(key) => Some(key.as_str()),
            _ => None,
        });
        let mut keys: Vec<&str> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

const BUILDING: &str = "error building configuration";

const VALIDATING: &str = "error validating configuration";

const LOGGING: &str = "error setting up logging";

const NO_IDENTITY: &str = "key and cert are required if TLS is enabled on the CTS API";
