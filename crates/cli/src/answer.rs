//! A complete answer to a command line.

use std::io::Write as _;

/// Texts for standard output and standard error, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    /// For standard output.
    pub(crate) stdout: String,
    /// For standard error, written first.
    pub(crate) stderr: String,
    /// Exit code (docs/cli.md#exit-codes).
    pub(crate) code: u8,
}

impl Answer {
    /// A requested text.
    pub(crate) fn printed(stdout: impl Into<String>) -> Self {
        Self {
            stdout: stdout.into(),
            ..Self::default()
        }
    }

    pub(crate) fn complaint(stderr: impl Into<String>, code: u8) -> Self {
        Self {
            stdout: String::new(),
            stderr: stderr.into(),
            code,
        }
    }

    /// Writes it and gives the exit code. A missing reader changes nothing.
    pub(crate) fn give(&self) -> u8 {
        drop(std::io::stderr().write_all(self.stderr.as_bytes()));
        drop(std::io::stdout().write_all(self.stdout.as_bytes()));
        self.code
    }
}
