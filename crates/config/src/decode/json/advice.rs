//! Messages for faults in JSON, in the words of this program, with help for likely mistakes.

use cts_hcl1::{Span, ValueKind};
use jsonc_parser::errors::{ParseError, ParseErrorKind};

use super::json_error::JsonError;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Checks the encoding and gives the text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, JsonError> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        let message = "found a byte order mark, expected plain UTF-8";
        return Err(JsonError::new(message, 0..BYTE_ORDER_MARK.len())
            .with_help("save the file as UTF-8 without byte order mark"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        let end = error
            .error_len()
            .map_or(bytes.len(), |length| start + length);
        let message = "found bytes that are not UTF-8, expected UTF-8 text";
        JsonError::new(message, start..end).with_help("save the file as UTF-8")
    })
}

pub(super) fn empty(text: &str) -> JsonError {
    JsonError::new("the file is empty, expected an object, `{ … }`", 0..0).with_help(
        if text.is_empty() {
            "remove the file, or write `{}` into it"
        } else {
            "write `{}` for an empty configuration"
        },
    )
}

pub(super) fn describe(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::String(_) => "text",
        ValueKind::Number(_) => "a number",
        ValueKind::Bool(_) => "a boolean",
        ValueKind::List(elements) if elements.is_empty() => "an empty list",
        ValueKind::List(_) => "a list",
        ValueKind::Object(_) => "an object",
        ValueKind::Null => "null",
    }
}

/// Rewords an error of the parser that records places.
pub(super) fn explain(text: &str, error: &ParseError) -> JsonError {
    use ParseErrorKind as Kind;
    let span = within(text, error.range().start..error.range().end);
    let at = text[span.start..].chars().next();
    let word = word(&text[span.start..]);
    if matches!(error.kind(), Kind::UnexpectedToken) && !word.is_empty() {
        return unexpected_word(span.start, word);
    }
    let (message, help) = match error.kind() {
        Kind::CommentsNotAllowed | Kind::UnterminatedCommentBlock => (
            "found a comment: there are no comments in JSON",
            Some("remove it, or use HCL, in a file that ends in .hcl"),
        ),
        Kind::ExpectedColonAfterObjectKey => ("expected `:` between a key and its value", None),
        Kind::ExpectedObjectValue => ("expected a value behind `:`", None),
        Kind::ExpectedDigit
        | Kind::ExpectedDigitFollowingNegativeSign
        | Kind::ExpectedPlusMinusOrDigitInNumberLiteral => {
            ("this number is not complete, expected a digit", None)
        }
        Kind::BareDecimalPointNumbersNotAllowed => (
            "a number needs digits on both sides of its point",
            Some("write 0.5 or 1.0"),
        ),
        Kind::HexadecimalNumbersNotAllowed | Kind::UnaryPlusNumbersNotAllowed => (
            "this is not a number of JSON, expected decimal digits",
            Some("put it between double quotes if it is text"),
        ),
        Kind::ExpectedStringObjectProperty => (
            "expected a key between double quotes",
            Some("put the key between double quotes"),
        ),
        Kind::SingleQuotedStringsNotAllowed => (
            "found a single quote, expected double quotes around text",
            None,
        ),
        Kind::ExpectedComma => ("expected `,` before the next value", None),
        Kind::TrailingCommasNotAllowed => (
            "found a comma behind the last value",
            Some("remove the comma"),
        ),
        Kind::MultipleRootJsonValues => (
            "found more behind the end of the object, expected the end of the file",
            Some("a file holds one object; look for a closing brace too many"),
        ),
        Kind::String(kind) if is_unterminated(kind) => (
            "text is not closed (literal not terminated): found the end of the file, expected `\"`",
            None,
        ),
        Kind::String(_) => (
            "this is not an escape of JSON",
            Some("these exist: \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits"),
        ),
        Kind::UnterminatedArray => (
            "list is not closed: found the end of the file, expected `]`",
            None,
        ),
        Kind::UnterminatedObject => (
            "object is not closed: found the end of the file, expected `}`",
            None,
        ),
        Kind::NestingDepthExceeded => ("this is nested too deeply", None),
        Kind::UnexpectedWord | Kind::NonFiniteNumbersNotAllowed => {
            return unexpected_word(span.start, word);
        }
        Kind::UnexpectedComma
        | Kind::UnexpectedCloseBrace
        | Kind::UnexpectedCloseBracket
        | Kind::UnexpectedColon => ("expected a value", None),
        Kind::UnexpectedTokenInObject => ("expected a key between double quotes or `}`", None),
        Kind::UnexpectedToken => (
            "unexpected character",
            match at {
                Some('#') => Some("there are no comments in JSON"),
                Some('=') => Some("write `:` between a key and its value"),
                Some(';') => Some("separate with a comma"),
                _ => None,
            },
        ),
    };
    let error = JsonError::new(message, span);
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

fn is_unterminated(kind: &jsonc_parser::ParseStringErrorKind) -> bool {
    matches!(
        kind,
        jsonc_parser::ParseStringErrorKind::UnterminatedStringLiteral
    )
}

/// The letters and digits at the beginning, up to a length that still is a word.
fn word(text: &str) -> &str {
    const LONGEST: usize = 40;
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut ends = text.char_indices().take(LONGEST);
    let end = ends.find(|(_, character)| !is_word(*character));
    let end = end.map_or(text.len(), |(at, _)| at);
    &text[..text.floor_char_boundary(end.min(LONGEST))]
}

fn unexpected_word(start: usize, word: &str) -> JsonError {
    let span = start..start + word.len();
    JsonError::new("unexpected word, expected a value", span).with_help(help_for_word(word))
}

fn help_for_word(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "true" => "write `true` in lower case",
        "false" => "write `false` in lower case",
        "null" | "none" | "nil" => "write `null` in lower case, or leave the key out",
        _ => "put it between double quotes",
    }
}

/// The error of the strict parser about a text that the other parser accepted.
pub(super) fn explain_strict(text: &str, error: &serde_json::Error) -> JsonError {
    if text.trim().is_empty() {
        return empty(text);
    }
    let start = offset(text, error.line(), error.column());
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    let span = start..start + length;
    JsonError::new("this is not JSON", span)
}

/// The parser counts lines from one, and columns in bytes from one; the column may be that before the
/// fault, which looks to a caller like the fault itself.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(str::len).sum();
    text.floor_char_boundary((before + column.saturating_sub(1)).min(text.len()))
}

fn within(text: &str, span: Span) -> Span {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}
