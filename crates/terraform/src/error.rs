//! Errors around a Terraform process (docs/terraform.md#output-and-errors).

use std::error::Error;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

pub use cts_core::FileError;
use cts_core::TaskName;
use tokio::task::JoinError;

use crate::state_lock::StateLock;
use crate::step::Step;

/// A command of a task failed. Displayed in the form that runbooks look for: `error tf-apply for '<task>': exit status
/// 1`, then the complete standard error. If the state was locked, advice follows.
#[derive(Debug)]
pub struct CommandError {
    pub task: TaskName,
    pub directory: PathBuf,
    /// The step that failed.
    pub step: Step,
    pub failure: CommandFailure,
}

/// How a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// Terraform ended with an error.
    #[error("{}\n{stderr}", ExitText(*status))]
    Exit {
        /// Exit status of the process.
        status: ExitStatus,
        /// Standard error of the command; only its end, if it was very long.
        stderr: String,
        /// Whether a stop had been requested.
        interrupted: bool,
        /// Whether `validate` finds the errors of this `init`, too.
        confirmed: bool,
    },
    /// Terraform took longer than this step may, and was stopped.
    #[error(
        "stopped because it took longer than {}, which is its `{key}`\n{stderr}",
        LimitText(*limit)
    )]
    TimedOut {
        limit: Duration,
        /// The key that sets the limit.
        key: &'static str,
        /// Standard error of the process; only its end, if it was very long.
        stderr: String,
    },
    /// Other commands used the shared plugin cache for longer than this step may take; nothing has happened.
    #[error(
        "not started because others used the shared plugin cache for {}, which is its `{key}`",
        LimitText(*limit)
    )]
    CacheInUse {
        limit: Duration,
        /// The key that sets the limit.
        key: &'static str,
    },
    /// Terraform has ended, but processes that it had started do not end, even if killed.
    #[error("processes that Terraform has started do not end, even killed: group {group}")]
    LeftBehind { group: i32 },
    /// Cancelled before Terraform was started; nothing has happened.
    #[error("interrupted before Terraform was started")]
    Cancelled,
    /// `validate` found the root module or the task's module wrong.
    #[error("the configuration is not valid\n{diagnostics}")]
    Invalid { diagnostics: String },
    /// The module has no output that the task wants.
    #[error(transparent)]
    NoOutput(Box<MissingOutput>),
    /// The output of the command does not have the expected form.
    #[error("its output cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// The process could not be started or waited for.
    #[error("could not run {}", program.display())]
    Run { program: PathBuf, source: io::Error },
    /// The task that supervises the process ended abnormally.
    #[error("lost the supervision of Terraform")]
    Supervision(#[source] JoinError),
    /// A file in the task directory could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A module lacks an output that its task wants.
#[derive(Debug, thiserror::Error)]
#[error(
    "module {module:?} has no output {name:?}: in {} there {}",
    directory.display(),
    OtherNames(others)
)]
pub struct MissingOutput {
    pub name: String,
    /// The module as configured.
    pub module: String,
    /// The directory of the file.
    pub directory: PathBuf,
    /// The outputs that the module has.
    pub others: Vec<String>,
}

/// The outputs that the module has instead, as the end of the message.
struct OtherNames<'a>(&'a [String]);

impl fmt::Display for OtherNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("is none at all"),
            [one] => write!(f, "is {one}"),
            several => write!(f, "are {}", several.join(", ")),
        }
    }
}

impl CommandError {
    /// Whether the command ended on request, without a fault of its own.
    pub fn is_interrupted(&self) -> bool {
        matches!(
            self.failure,
            CommandFailure::Cancelled
                | CommandFailure::Exit {
                    interrupted: true,
                    ..
                }
        )
    }

    /// Whether a further attempt at the same input would fail in the same way: the module is wrong. A module or
    /// provider that could not be fetched is not, and neither is whatever a plan or an apply reports.
    pub fn is_final(&self) -> bool {
        match (&self.failure, self.step) {
            (CommandFailure::Invalid { diagnostics }, _) => !asks_for_init(diagnostics),
            (CommandFailure::Exit { confirmed, .. }, Step::Init) => *confirmed,
            _ => false,
        }
    }

    /// Whether processes that the command started are still running.
    pub fn has_left_processes(&self) -> bool {
        matches!(self.failure, CommandFailure::LeftBehind { .. })
    }

    /// The lock of the state that the command did not get, if that was the reason for the failure.
    pub fn state_lock(&self) -> Option<StateLock> {
        match &self.failure {
            CommandFailure::Exit { stderr, .. } => StateLock::read(stderr),
            _ => None,
        }
    }

    /// Whether the engine requires `terraform init` or `tofu init`: the modules, the providers or the backend have
    /// changed since the initialisation of the directory.
    pub fn needs_initialisation(&self) -> bool {
        match &self.failure {
            CommandFailure::Exit { stderr, .. } => asks_for_init(stderr),
            _ => false,
        }
    }
}

/// Whether a text names `terraform init` or `tofu init`.
pub(crate) fn asks_for_init(text: &str) -> bool {
    // Terraform wraps its texts and draws a frame in front of each line.
    let words: Vec<_> = text
        .split(|c: char| c.is_whitespace() || c == '│')
        .map(|word| word.trim_matches(['"', '\'', '`', '.', ',', ':', '(', ')']))
        .filter(|word| !word.is_empty())
        .collect();
    let asks = |pair: &[&str]| pair == ["terraform", "init"] || pair == ["tofu", "init"];
    words.windows(2).any(asks)
}

/// Summaries of the errors in Terraform's text.
pub(crate) fn summaries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start_matches(['│', ' ']);
        line.strip_prefix("Error: ").map(str::trim_end)
    })
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error tf-{} for '{}': {}",
            self.step, self.task, self.failure
        )?;
        match self.state_lock() {
            Some(lock) => write!(f, "\n{}", lock.advice(&self.directory)),
            None => Ok(()),
        }
    }
}

impl Error for CommandError {
    /// The cause of the failure; the failure itself is already part of the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.failure.source()
    }
}

/// A limit as it is written in a configuration.
struct LimitText(Duration);

impl fmt::Display for LimitText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(limit) = self;
        let seconds = limit.as_secs();
        if limit.subsec_nanos() > 0 || seconds == 0 {
            return write!(f, "{limit:?}");
        }
        for (unit, length) in [("h", 3600), ("m", 60)] {
            if seconds.is_multiple_of(length) {
                return write!(f, "{}{unit}", seconds / length);
            }
        }
        write!(f, "{seconds}s")
    }
}

/// An exit status in the words of the original.
struct ExitText(ExitStatus);

impl fmt::Display for ExitText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => write!(f, "ended by signal {signal}"),
            (None, None) => f.write_str("unknown exit status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> CommandError {
        CommandError {
            task: TaskName::new("edge").unwrap(),
            directory: PathBuf::from("/srv/edge"),
            step: Step::Apply,
            failure: CommandFailure::Exit {
                status: ExitStatus::from_raw(1 << 8),
                stderr: stderr.to_owned(),
                interrupted: false,
                confirmed: false,
            },
        }
    }

    #[test]
    fn an_error_reads_like_the_original() {
        assert_eq!(
            failed("\nError: no such host\n").to_string(),
            "error tf-apply for 'edge': exit status 1\n\nError: no such host\n"
        );
    }

    #[test]
    fn a_limit_that_was_passed_is_named_with_what_raises_it() {
        let error = CommandError {
            failure: CommandFailure::TimedOut {
                limit: Duration::from_mins(90),
                key: "apply_timeout",
                stderr: "\nError: execution halted\n".to_owned(),
            },
            ..failed("")
        };
        assert_eq!(
            error.to_string(),
            "error tf-apply for 'edge': stopped because it took longer than 90m, which is its \
             `apply_timeout`\n\nError: execution halted\n"
        );
        assert!(!error.is_interrupted());
    }

    #[test]
    fn an_invalid_module_is_final_unless_it_is_not_installed() {
        let invalid = |diagnostics: &str| CommandError {
            step: Step::Validate,
            failure: CommandFailure::Invalid {
                diagnostics: diagnostics.to_owned(),
            },
            ..failed("")
        };
        assert!(invalid("Error: Unsupported attribute\n").is_final());
        let not_installed =
            "Error: Module not installed\n\nRun \"terraform init\" to install it.\n";
        assert!(!invalid(not_installed).is_final());
    }

    #[test]
    fn a_request_for_init_is_found_across_line_breaks() {
        assert!(
            failed("│ Module not installed. Run \"terraform\n│ init\" to install")
                .needs_initialisation()
        );
        assert!(failed("│ please run \"tofu init\" to install").needs_initialisation());
        assert!(!failed("│ Error: init script failed").needs_initialisation());
    }
}
