//! A fault of a JSON file.

use cts_hcl1::Span;

/// The first fault of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct JsonError {
    /// The text that was found and the one that was expected; no text of the file.
    pub(crate) message: String,
    /// Where, in bytes.
    pub(crate) span: Span,
    /// How to mend it.
    pub(crate) help: Option<String>,
}

impl JsonError {
    pub(super) fn new(message: impl Into<String>, span: Span) -> Self {
        Self {
            message: message.into(),
            span,
            help: None,
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
