//! Strings between double quotes.
//!
//! Inside `${ }` quotes and line breaks are plain text and everything is kept as written, but
//! with `\n` for line ends of Windows; escapes are checked there but not resolved. Braces are counted without regard to quotes.

use super::Lexer;
use crate::ast::Span;
use crate::error::{ParseError, quoted};

/// Meaning of an escape, before it is known to be allowed.
enum Escape {
    Byte(u32),
    CodePoint(u32),
}

impl Lexer<'_> {
    /// Reads a string; the position is at its opening quote.
    pub(super) fn string(&mut self) -> Result<String, ParseError> {
        let bytes = self.source.as_bytes();
        let start = self.position;
        let mut position = start + 1;
        let mut text = Vec::new();
        loop {
            match bytes.get(position) {
                None | Some(b'\n') => return Err(self.unterminated(start, position)),
                Some(b'"') => break,
                Some(b'$') if bytes.get(position + 1) == Some(&b'{') => {
                    let end = self.end_of_interpolation(position)?;
                    let written = self.source[position..end].replace("\r\n", "\n");
                    text.extend_from_slice(written.as_bytes());
                    position = end;
                }
                Some(b'\\') if !ends_line(bytes, position + 1) => {
                    let (escape, end) = self.escape(position)?;
                    append(&mut text, &escape, position..end)?;
                    position = end;
                }
                Some(byte) => {
                    text.push(*byte);
                    position += 1;
                }
            }
        }
        self.position = position + 1;
        let Ok(text) = String::from_utf8(text) else {
            return Err(ParseError::new(
                "string is not UTF-8 text: found byte escapes (`\\x` or octal) beyond `\\x7f` \
                 that form no character",
                start..self.position,
            )
            .with_help("write the character itself or its code point, such as `\\u00e9`"));
        };
        Ok(text)
    }

    fn unterminated(&self, start: usize, end: usize) -> ParseError {
        let (found, end) = if end < self.source.len() {
            let carriage_return = self.source[start..end].ends_with('\r');
            ("a line break", end - usize::from(carriage_return))
        } else {
            ("end of file", end)
        };
        ParseError::new(
            format!("string is not closed (literal not terminated): found {found}, expected `\"`"),
            start..end,
        )
        .with_help(
            "close the string with `\"` on the same line; \
             write a line break as `\\n` or use a heredoc (`<<EOF`)",
        )
    }

    /// Returns the offset after the brace that closes the `${` at `start`.
    fn end_of_interpolation(&self, start: usize) -> Result<usize, ParseError> {
        let bytes = self.source.as_bytes();
        let mut position = start + "${".len();
        let mut open = 1_usize;
        while open > 0 {
            match bytes.get(position) {
                None => {
                    return Err(ParseError::new(
                        "`${` is not closed (literal not terminated): found end of file, expected `}`",
                        start..start + "${".len(),
                    )
                    .with_help(
                        "every `{` behind `${` needs its `}`, inside quotes too; \
                         write `\\x24{` for a literal `${` without end",
                    ));
                }
                Some(b'\\') => {
                    position = self.escape(position)?.1;
                    continue;
                }
                Some(b'{') => open += 1,
                Some(b'}') => open -= 1,
                Some(_) => {}
            }
            position += 1;
        }
        Ok(position)
    }

    /// Reads the escape whose backslash is at `start`; returns the offset after it, too.
    fn escape(&self, start: usize) -> Result<(Escape, usize), ParseError> {
        let behind = start + 1;
        let Some(letter) = self.source[behind..].chars().next() else {
            return Err(invalid_escape("`\\` at the end of the file", start..behind));
        };
        let end = behind + letter.len_utf8();
        let byte = match letter {
            'a' => 0x07,
            'b' => 0x08,
            't' => 0x09,
            'n' => 0x0a,
            'v' => 0x0b,
            'f' => 0x0c,
            'r' => 0x0d,
            '"' => 0x22,
            '\\' => 0x5c,
            '0'..='7' => {
                let (value, end) = self.digits(start, behind, 3, 8)?;
                return Ok((Escape::Byte(value), end));
            }
            'x' => {
                let (value, end) = self.digits(start, end, 2, 16)?;
                return Ok((Escape::Byte(value), end));
            }
            'u' => {
                let (value, end) = self.digits(start, end, 4, 16)?;
                return Ok((Escape::CodePoint(value), end));
            }
            'U' => {
                let (value, end) = self.digits(start, end, 8, 16)?;
                return Ok((Escape::CodePoint(value), end));
            }
            '\n' | '\r' => {
                return Err(invalid_escape("`\\` at the end of a line", start..behind));
            }
            _ => {
                return Err(invalid_escape(
                    &quoted(&self.source[start..end]),
                    start..end,
                ));
            }
        };
        Ok((Escape::Byte(byte), end))
    }

    /// Exactly `count` digits from `from`, for the escape that starts at `start`.
    fn digits(
        &self,
        start: usize,
        from: usize,
        count: usize,
        radix: u32,
    ) -> Result<(u32, usize), ParseError> {
        let mut value = 0_u32;
        let mut end = from;
        for character in self.source[from..].chars().take(count) {
            let Some(digit) = character.to_digit(radix) else {
                break;
            };
            // Eight hexadecimal digits fill the 32 bits exactly.
            value = value * radix + digit;
            end += 1;
        }
        if end - from < count {
            let kind = if radix == 8 { "octal" } else { "hexadecimal" };
            return Err(ParseError::new(
                format!(
                    "invalid escape: found {} with too few digits, expected {count} {kind} digits",
                    quoted(&self.source[start..end])
                ),
                start..end,
            )
            .with_help("for a backslash write `\\\\`"));
        }
        Ok((value, end))
    }
}

fn ends_line(bytes: &[u8], position: usize) -> bool {
    match bytes.get(position) {
        None | Some(b'\n') => true,
        Some(b'\r') => bytes.get(position + 1) == Some(&b'\n'),
        Some(_) => false,
    }
}

fn append(text: &mut Vec<u8>, escape: &Escape, span: Span) -> Result<(), ParseError> {
    match *escape {
        Escape::Byte(value) => {
            let Ok(byte) = u8::try_from(value) else {
                return Err(ParseError::new(
                    "invalid escape: found an octal escape above `\\377`, expected one byte",
                    span,
                )
                .with_help("write a character by its code point, such as `\\u00e9`"));
            };
            text.push(byte);
        }
        Escape::CodePoint(value) => {
            let Some(character) = char::from_u32(value) else {
                return Err(ParseError::new(
                    format!(
                        "invalid escape: found U+{value:04X}, which is no Unicode character, \
                         expected a code point up to U+10FFFF that is no surrogate"
                    ),
                    span,
                ));
            };
            let mut buffer = [0; 4];
            text.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
    Ok(())
}

fn invalid_escape(found: &str, span: Span) -> ParseError {
    ParseError::new(
        format!(
            "invalid escape: found {found}, expected one of \
             `\\n` `\\t` `\\r` `\\a` `\\b` `\\f` `\\v` `\\\"` `\\\\` \
             `\\xHH` `\\OOO` `\\uXXXX` `\\UXXXXXXXX`"
        ),
        span,
    )
    .with_help("for a backslash write `\\\\`; other characters need none before them")
}
