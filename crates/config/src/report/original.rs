//! Problems in the words of the original's log, which filters of that log match (docs/cli.md#log).

use crate::report::problem::{Problem, Report};
pub(crate) use crate::report::problem_kind::ProblemKind;

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
        let problems = self.problems().iter();
        let Some(first) = problems.min_by_key(|problem| Stage::of(problem)) else {
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
            ProblemKind::UnknownKey { block, .. } => {
                let keys = self.unknown_keys_in(&file, block).join(", ");
                let place = if is_task_member(block) { block } else { &file };
                (
                    None,
                    BUILDING,
                    format!("'{place}' has invalid keys: {keys}"),
                )
            }
            ProblemKind::VariableFile => (None, FINALIZING, own),
            ProblemKind::SecondBlock(path) => {
                let sentence = format!("only one '{path}' block can be configured");
                (None, BUILDING, sentence)
            }
            ProblemKind::LogLevel(level) => (None, LOGGING, format!("Invalid log level: {level}")),
            ProblemKind::Malformed => (None, BUILDING, own),
            ProblemKind::WrongType(path) => (None, BUILDING, format!("'{path}': {own}")),
            ProblemKind::Other if first.file().is_none() => (None, BUILDING, own),
            kind => (None, VALIDATING, invalid(kind).unwrap_or(own)),
        };
        OriginalError {
            file_message,
            message,
            sentence,
        }
    }

    /// Unknown keys of a condition or module input, which the original reads apart, or all others of a file with their
    /// paths.
    fn unknown_keys_in(&self, file: &str, block: &str) -> Vec<String> {
        let problems = self.problems().iter();
        let here = problems.filter(|problem| problem.file() == Some(file));
        let keys = here.filter_map(|problem| match &problem.kind {
            ProblemKind::UnknownKey { block: of, key } if is_task_member(block) => {
                (of == block).then(|| key.clone())
            }
            ProblemKind::UnknownKey { block: of, key } if !is_task_member(of) => {
                Some(joined(of, key))
            }
            _ => None,
        });
        let mut keys: Vec<String> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// The stage of the original in which a problem ends it: it reads everything before it checks any value.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Reading,
    UnknownKeys,
    Finalizing,
    Validating,
    Logging,
}

impl Stage {
    fn of(problem: &Problem) -> Self {
        match &problem.kind {
            ProblemKind::Other if problem.file().is_none() => Self::Reading,
            ProblemKind::MissingFile(_)
            | ProblemKind::Syntax
            | ProblemKind::Malformed
            | ProblemKind::WrongType(_)
            | ProblemKind::SecondBlock(_) => Self::Reading,
            ProblemKind::UnknownKey { block, .. } if is_task_member(block) => Self::Reading,
            ProblemKind::UnknownKey { .. } => Self::UnknownKeys,
            ProblemKind::VariableFile => Self::Finalizing,
            ProblemKind::LogLevel(_) => Self::Logging,
            _ => Self::Validating,
        }
    }
}

/// The path of something in a block; that of the top of the files is empty.
pub(crate) fn joined(block: &str, name: &str) -> String {
    if block.is_empty() {
        name.to_owned()
    } else {
        format!("{block}.{name}")
    }
}

/// Whether it is a block whose keys depend on its label.
fn is_task_member(block: &str) -> bool {
    let kinds = ["condition", "module_input", "source_input"];
    let member = block
        .strip_prefix("task[")
        .and_then(|rest| rest.split_once("]."));
    member.is_some_and(|(_, member)| kinds.iter().any(|kind| member.starts_with(kind)))
}

const BUILDING: &str = "error building configuration";

const FINALIZING: &str = "error finalizing configuration";

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
        | ProblemKind::Malformed
        | ProblemKind::WrongType(_)
        | ProblemKind::UnknownKey { .. }
        | ProblemKind::VariableFile
        | ProblemKind::Module
        | ProblemKind::SecondBlock(_)
        | ProblemKind::LogLevel(_) => return None,
    };
    Some(fixed.to_owned())
}
