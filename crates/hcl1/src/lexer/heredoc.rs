//! Heredocs: `<<EOF` and `<<-EOF`.
//!
//! The closing line holds the marker alone, indented or not, and ends with a line end of its own.
//! Its indentation counts: with `<<` it is the end of the text; with `<<-` it is removed from all
//! lines, if really all of them have it, the blank ones too, and else from none. Line ends of Windows
//! become `\n`.

use super::{Lexer, Token, TokenKind};
use crate::error::{ParseError, quoted};

impl<'a> Lexer<'a> {
    /// Reads a heredoc; the position is at its `<<`.
    pub(super) fn heredoc(&mut self) -> Result<Token<'a>, ParseError> {
        let start = self.position;
        let behind = &self.source[start + "<<".len()..];
        let indented = behind.starts_with('-');
        let behind = behind.strip_prefix('-').unwrap_or(behind);
        let marker_length = behind
            .find(|character: char| character != '_' && !character.is_alphanumeric())
            .unwrap_or(behind.len());
        let marker = &behind[..marker_length];
        let marker_end = self.source.len() - behind.len() + marker_length;
        let opening = start..marker_end;
        let after_marker = &behind[marker_length..];
        let content_start = if marker.is_empty() {
            return Err(ParseError::new(
                format!(
                    "found {} without a marker, expected a word directly behind it",
                    quoted(&self.source[opening.clone()])
                ),
                opening,
            )
            .with_help("write the marker without blank and without quotes: `<<EOF`"));
        } else if after_marker.starts_with('\n') {
            marker_end + 1
        } else if after_marker.starts_with("\r\n") {
            marker_end + 2
        } else if let Some(character) = after_marker.chars().next() {
            return Err(ParseError::new(
                format!(
                    "found {} behind the heredoc marker {}, expected a line break",
                    quoted(character.encode_utf8(&mut [0; 4])),
                    quoted(marker)
                ),
                marker_end..marker_end + character.len_utf8(),
            )
            .with_help("the text starts on the next line; a marker is letters and digits only"));
        } else {
            self.source.len()
        };

        let mut line_start = content_start;
        let mut accompanied = false;
        while let Some(length) = self.source[line_start..].find('\n') {
            let line = &self.source[line_start..line_start + length];
            let word = line.trim_start_matches(is_blank).trim_end_matches('\r');
            if word == marker {
                let indentation_length = line.len() - line.trim_start_matches(is_blank).len();
                let closing = &line[..indentation_length];
                let mut text = self.source[content_start..line_start].replace("\r\n", "\n");
                if indented {
                    text = without_indentation(text, closing);
                } else {
                    text.push_str(closing);
                }
                self.position = line_start + length + 1;
                return Ok(Token {
                    kind: TokenKind::Heredoc(text),
                    span: start..line_start + indentation_length + word.len(),
                });
            }
            accompanied |= closes_with_company(word, marker);
            line_start += length + 1;
        }
        let last = self.source[line_start..].trim();
        let help = if last == marker {
            format!("the closing line {} needs a line break", quoted(marker))
        } else if accompanied || closes_with_company(last, marker) {
            format!(
                "nothing else may stand on the closing line {}, not even a comma or a blank",
                quoted(marker)
            )
        } else {
            format!(
                "close the heredoc with a line that holds only {}",
                quoted(marker)
            )
        };
        Err(ParseError::new(
            format!(
                "heredoc not terminated: found end of file, expected a line {}",
                quoted(marker)
            ),
            opening,
        )
        .with_help(help))
    }
}

/// The blanks that may stand before a closing marker.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

/// Whether a line was probably meant as the closing one.
fn closes_with_company(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.starts_with([' ', '\t', ',', ']', ')', '}']))
}

fn without_indentation(mut text: String, closing: &str) -> String {
    let lines = text.split_inclusive('\n');
    let stripped: Option<String> = lines.map(|line| line.strip_prefix(closing)).collect();
    if let Some(stripped) = stripped {
        return stripped;
    }
    // White space other than ordinary blanks stays, as in the original.
    text.push_str(closing.trim_end_matches([' ', '\t']));
    text
}
