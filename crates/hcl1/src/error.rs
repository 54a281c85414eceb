//! The error of the parser.

use crate::Span;

/// The first syntax error of a file (docs/configuration.md#hcl).
///
/// `Display` gives the message only: lower case, without file name and line, which the caller
/// knows or derives from the span. No text from inside quotes or heredocs is ever part of it;
/// unquoted text is, shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    message: String,
    span: Span,
    help: Option<String>,
}

impl ParseError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Self {
        Self {
            message: message.into(),
            span,
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn with_optional_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    /// Returns what was found and what was expected.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Position within the source; empty at its end. For something never closed, the opening.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Hint for mistakes with a likely cause.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// Text of the source between backquotes for a message: one line, shortened, printable.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown = String::from("`");
    let mut characters = text.chars();
    for character in characters.by_ref().take(LONGEST) {
        if character == '\u{feff}' || (!character.is_ascii() && character.is_whitespace()) {
            shown.extend(character.escape_unicode());
        } else if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown.push('`');
    shown
}
