//! An output of a task command.

use std::io::{IsTerminal, Write};

use super::text::wrap;
use crate::commands::terminal_text::printable;

/// Columns that the details of an error are wrapped at.
const DETAIL_WIDTH: usize = 78;

/// Standard output or standard error.
pub(crate) struct Stream<'a> {
    writer: &'a mut (dyn Write + Send),
    is_terminal: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new<S: Write + Send + IsTerminal>(stream: &'a mut S) -> Self {
        Self {
            is_terminal: stream.is_terminal(),
            writer: stream,
        }
    }

    #[cfg(test)]
    pub(super) fn to_file(writer: &'a mut Vec<u8>) -> Self {
        Self {
            writer,
            is_terminal: false,
        }
    }

    #[cfg(test)]
    pub(super) fn to_terminal(writer: &'a mut Vec<u8>) -> Self {
        Self {
            writer,
            is_terminal: true,
        }
    }

    /// Writes a message. The prefix stands before the first line only; an empty text is an empty line.
    pub(super) fn say(&mut self, prefix: &str, text: &str) {
        let text = printable(text.trim_end_matches('\n'));
        let prefix = if text.is_empty() { "" } else { prefix };
        self.write(&format!("{prefix}{text}\n"));
    }

    /// Writes a message whose lines may be long. Only a terminal gets the text wrapped: scripts match parts of it.
    pub(super) fn explain(&mut self, prefix: &str, text: &str) {
        if self.is_terminal {
            self.say(prefix, &wrap(text, DETAIL_WIDTH));
        } else {
            self.say(prefix, text);
        }
    }

    /// Writes a text as it is.
    pub(super) fn write(&mut self, text: &str) {
        drop(self.writer.write_all(text.as_bytes()));
        drop(self.writer.flush());
    }
}
