//! Places in source files.

use std::fmt;
use std::sync::Arc;

use cts_hcl1::Span;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A file as problems show it: secrets are covered by asterisks and bytes that are no text or would
/// steer a terminal are replaced, byte for byte, so that spans of the original still fit.
pub(crate) struct SourceText {
    name: String,
    order: usize,
    text: String,
}

impl SourceText {
    /// Wraps `bytes`, of which secrets have been masked already. `order` sorts the files of a report.
    pub(crate) fn new(name: String, order: usize, bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character.is_control() && !matches!(character, '\n' | '\r' | '\t') {
                    text.extend(std::iter::repeat_n('?', character.len_utf8()));
                } else {
                    text.push(character);
                }
            }
            text.extend(chunk.invalid().iter().map(|_byte| '?'));
        }
        Self { name, order, text }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn order(&self) -> usize {
        self.order
    }

    /// Line and column of a byte offset, both from one, the column in characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// The span cut down to one line, for underlining: a whole block would drown the message.
    pub(crate) fn first_line(&self, span: &Span) -> Span {
        let start = self
            .text
            .floor_char_boundary(span.start.min(self.text.len()));
        let end = self
            .text
            .floor_char_boundary(span.end.clamp(start, self.text.len()));
        let length = self.text[start..end]
            .find(['\n', '\r'])
            .unwrap_or(end - start);
        start..start + length
    }
}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceText")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Gives out the one line on which a span starts, whatever context is asked for: neighbouring lines
/// add nothing that the file would not show, and may hold secrets under names that nobody knows.
impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _context_lines_before: usize,
        _context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let start = self
            .text
            .floor_char_boundary(span.offset().min(self.text.len()));
        let line_start = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[line_start..]
            .split('\n')
            .next()
            .unwrap_or_default()
            .trim_end_matches('\r');
        let (row, column) = self.position(start);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            line.as_bytes(),
            (line_start, line.len()).into(),
            row - 1,
            column - 1,
            1,
        )))
    }
}

/// A place in one file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Span,
}

impl Place {
    pub(crate) fn new(source: &Arc<SourceText>, span: Span) -> Self {
        Self {
            source: Arc::clone(source),
            span,
        }
    }

    /// `file:line:column`.
    pub(crate) fn describe(&self) -> String {
        let (line, column) = self.source.position(self.span.start);
        format!("{}:{line}:{column}", self.source.name())
    }
}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}
