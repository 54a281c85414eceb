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
    /// The second block of a kind that may be there once.
    SecondBlock(String),
    /// The second task of a name.
    DuplicateTask(String),
    /// TLS of the API without its files.
    NoIdentity,
    /// Clients must show a certificate, of no authority.
    NoAuthorities,
    /// A log level that does not exist.
    LogLevel(String),
    /// A dynamic template in a block that cannot have any.
    MisplacedTemplate,
    /// A secret of a Vault that is not configured.
    NoVault,
    /// A provider with `auto_commit` in a second task.
    SharedCommits(String),
    /// A backend that tasks cannot use.
    Backend(String),
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
            ProblemKind::SecondBlock(path) => {
                let sentence = format!("only one '{path}' block can be configured");
                (None, BUILDING, sentence)
            }
            ProblemKind::LogLevel(level) => (None, LOGGING, format!("Invalid log level: {level}")),
            ProblemKind::Other if first.file().is_none() => (None, BUILDING, own),
            kind => (None, VALIDATING, invalid(kind).unwrap_or(own)),
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

/// The sentence about a value that can be read and cannot be used.
fn invalid(kind: &ProblemKind) -> Option<String> {
    let fixed = match kind {
        ProblemKind::NoIdentity => "key and cert are required if TLS is enabled on the CTS API",
        ProblemKind::NoAuthorities => {
            "either ca_cert or ca_path is required if verify_incoming is enabled"
        }
        ProblemKind::MisplacedTemplate => {
            "dynamic configuration using template syntax is only supported for terraform_provider blocks"
        }
        ProblemKind::NoVault => "missing Vault configuration",
        ProblemKind::DuplicateTask(name) => return Some(format!("duplicate task name: {name}")),
        ProblemKind::SharedCommits(provider) => {
            let sentence = format!("provider with autocommit is used by several tasks: {provider}");
            return Some(sentence);
        }
        ProblemKind::Backend(kind) => {
            return Some(format!("unsupported Terraform backend by Sync: {kind}"));
        }
        ProblemKind::Other
        | ProblemKind::MissingFile(_)
        | ProblemKind::Syntax
        | ProblemKind::UnknownKey(_)
        | ProblemKind::SecondBlock(_)
        | ProblemKind::LogLevel(_) => return None,
    };
    Some(fixed.to_owned())
}
