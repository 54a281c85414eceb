//! Places in source files.

use std::fmt;
use std::sync::Arc;

use cts_hcl1::Span;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// A file as problems show it: secrets are covered by asterisks, and bytes that are not text or would steer a
/// terminal are replaced, byte for byte, so that spans of the original still fit.
pub(crate) struct SourceText {
    name: String,
    order: usize,
    text: String,
    rules: Rules,
    /// Where each line starts.
    lines: Vec<usize>,
    /// Characters before each [`STRIDE`]th byte: without them the columns of many problems on one long
    /// line would take quadratic time.
    characters: Vec<usize>,
}

/// The number of bytes that are recounted for a column.
const STRIDE: usize = 1 << 8;

/// How much of a line is shown on either side of a place.
const SHOWN: usize = 160;

/// By which rules the content of a file is understood (docs/configuration.md#json, #types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rules {
    /// Blocks may be lists of blocks, and lists of one element count as their element.
    #[default]
    Hcl,
    /// A list is a list.
    Json,
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
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(ends.map(|(at, _)| at + 1))
            .collect();
        let mut characters = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut count = 0;
        for stride in text.as_bytes().chunks(STRIDE) {
            characters.push(count);
            count += starts_in(stride);
        }
        characters.push(count);
        Self {
            name,
            order,
            text,
            rules: Rules::default(),
            lines,
            characters,
        }
    }

    /// The text with `rules` as the rules by which it is read.
    pub(crate) fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
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
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line));
        let start = start.copied().unwrap_or(0);
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        (line, column)
    }

    /// `offset` is that of a character.
    fn characters_before(&self, offset: usize) -> usize {
        let stride = offset / STRIDE;
        let before = self.characters.get(stride).copied().unwrap_or(0);
        before + starts_in(&self.text.as_bytes()[stride * STRIDE..offset])
    }

    /// The line of an offset without its end; of a long one only what is near.
    fn shown_line(&self, offset: usize) -> Span {
        let bytes = self.text.as_bytes();
        let is_end = |byte: &u8| *byte == b'\n';
        let from = offset.saturating_sub(SHOWN);
        let line_start = bytes[from..offset].iter().rposition(is_end);
        let start = line_start.map_or(self.text.ceil_char_boundary(from), |end| from + end + 1);
        let to = (offset + SHOWN).min(bytes.len());
        let line_end = bytes[offset..to].iter().position(is_end);
        let end = line_end.map_or(self.text.floor_char_boundary(to), |end| offset + end);
        let end = start.max(end);
        start..start + self.text[start..end].trim_end_matches('\r').len()
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
        start..(start + length).min(self.shown_line(start).end.max(start))
    }
}

/// How many characters start in a piece of text.
fn starts_in(bytes: &[u8]) -> usize {
    let starts = bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xbf));
    starts.count()
}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceText")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Gives out the one line on which a span starts, whatever context is asked for: neighbouring lines
/// add nothing that the file would not show, and may hold secrets under unknown names.
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
        let shown = self.shown_line(start);
        let (row, column) = self.position(start);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[shown.clone()],
            (shown.start, shown.len()).into(),
            row - 1,
            column - 1,
            1,
        )))
    }
}

/// A place in one file.
#[derive(Debug, Clone)]
pub(crate) struct SourceLocation {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Span,
}

impl SourceLocation {
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
    pub(crate) place: SourceLocation,
}

impl<T> Located<T> {
    /// A different form of the value, at the same place.
    pub(crate) fn map<U>(self, form: impl FnOnce(T) -> U) -> Located<U> {
        Located {
            value: form(self.value),
            place: self.place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_counting_by_hand() {
        let text = format!("aö\n\n{}\r\nend", "ü€x".repeat(3000));
        let source = SourceText::new("a".into(), 0, text.as_bytes());
        for (offset, _) in text.char_indices().step_by(97) {
            let before = &text[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(source.position(offset), (line, column), "{offset}");
        }
        assert_eq!(source.position(usize::MAX), (4, 4));
    }

    #[test]
    fn shows_only_the_surroundings_in_a_long_line() {
        let text = format!("first\n{}Z{}\nlast", "é".repeat(5000), "ö".repeat(5000));
        let source = SourceText::new("a".into(), 0, text.as_bytes());
        let at = text.find('Z').unwrap();
        let span = SourceSpan::from((at, 1));
        let shown = source.read_span(&span, 3, 3).unwrap();
        let line = std::str::from_utf8(shown.data()).unwrap();
        assert_eq!(line, format!("{}Z{}", "é".repeat(80), "ö".repeat(79)));
        assert_eq!((shown.line(), shown.column()), (1, 5000));
        assert_eq!(source.first_line(&(at..text.len())).end, at + 1 + 2 * 79);
        let start = source.read_span(&SourceSpan::from((2, 1)), 0, 0).unwrap();
        assert_eq!(start.data(), b"first");
    }
}
