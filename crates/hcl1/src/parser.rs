//! Builds the tree from tokens, by recursive descent with limited depth.

mod advice;

use crate::ast::{Body, Item, Key, Span, Value, ValueKind};
use crate::error::{ParseError, quoted};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::source;

/// How deep lists and objects may be nested in each other.
pub const MAXIMUM_DEPTH: usize = 128;

/// Reads one HCL 1 file (docs/configuration.md#hcl).
///
/// Keys have no meaning here: repeated ones are all in the tree. A last `key =` without value is
/// left out, as the language demands. Only the first syntax error is reported. JSON, which the
/// original reads from files that start with `{`, is refused.
pub fn parse(source: &[u8]) -> Result<Body, ParseError> {
    let text = source::text(source)?;
    let mut lexer = Lexer::new(text);
    let token = lexer.next_token()?;
    let mut parser = Parser {
        lexer,
        token,
        depth: 0,
    };
    let items = parser.items(None)?;
    Ok(Body {
        items,
        span: 0..text.len(),
    })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token looked at, not yet consumed.
    token: Token<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Consumes the current token.
    fn advance(&mut self) -> Result<Token<'a>, ParseError> {
        let next = self.lexer.next_token()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// The items up to the end of the file, or up to the `}` that belongs to `opening`, which is
    /// not consumed.
    fn items(&mut self, opening: Option<&Span>) -> Result<Vec<Item>, ParseError> {
        let mut items = Vec::new();
        loop {
            match (&self.token.kind, opening) {
                (TokenKind::EndOfFile, None) | (TokenKind::RightBrace, Some(_)) => break,
                (TokenKind::EndOfFile, Some(opening)) => return Err(unclosed_object(opening)),
                _ => {}
            }
            let Some(item) = self.item(opening)? else {
                break;
            };
            items.push(item);
            if matches!(self.token.kind, TokenKind::Comma) {
                self.advance()?;
            }
        }
        Ok(items)
    }

    /// One item; none for a `key =` at the very end of the file.
    fn item(&mut self, opening: Option<&Span>) -> Result<Option<Item>, ParseError> {
        let start = self.token.span.start;
        let keys = self.keys()?;
        let assigned = matches!(self.token.kind, TokenKind::Equals);
        if assigned {
            self.advance()?;
            if matches!(self.token.kind, TokenKind::EndOfFile) {
                return match opening {
                    None => Ok(None),
                    Some(opening) => Err(unclosed_object(opening)),
                };
            }
        }
        let value = self.value("a value after `=`")?;
        let span = start..value.span.end;
        Ok(Some(Item {
            keys,
            value,
            assigned,
            span,
        }))
    }

    /// Reads the keys of an item, up to the `=` or `{` after them.
    fn keys(&mut self) -> Result<Vec<Key>, ParseError> {
        let mut keys: Vec<Key> = Vec::new();
        loop {
            let (text, quoted) = match &mut self.token.kind {
                TokenKind::Word(word) if !matches!(*word, "true" | "false") => {
                    (word.to_owned(), false)
                }
                TokenKind::String(text) => (std::mem::take(text), true),
                TokenKind::Equals if keys.len() == 1 => return Ok(keys),
                TokenKind::LeftBrace if !keys.is_empty() => return Ok(keys),
                _ => return Err(self.unexpected_behind_keys(&keys)),
            };
            let span = self.advance()?.span;
            keys.push(Key { text, quoted, span });
        }
    }

    /// Reads one value; `expected` names it in the error if it is missing.
    fn value(&mut self, expected: &str) -> Result<Value, ParseError> {
        let kind = match &mut self.token.kind {
            TokenKind::String(text) | TokenKind::Heredoc(text) => {
                ValueKind::String(std::mem::take(text))
            }
            TokenKind::Number(number) => ValueKind::Number(*number),
            TokenKind::Word("true") => ValueKind::Bool(true),
            TokenKind::Word("false") => ValueKind::Bool(false),
            TokenKind::LeftBrace => return self.object(),
            TokenKind::LeftBracket => return self.list(),
            _ => return Err(self.unexpected_for_value(expected)),
        };
        let span = self.advance()?.span;
        Ok(Value { kind, span })
    }

    fn object(&mut self) -> Result<Value, ParseError> {
        self.enter()?;
        let opening = self.advance()?.span;
        let items = self.items(Some(&opening))?;
        let span = opening.start..self.token.span.end;
        self.advance()?;
        self.depth -= 1;
        Ok(Value {
            kind: ValueKind::Object(Body {
                items,
                span: span.clone(),
            }),
            span,
        })
    }

    fn list(&mut self) -> Result<Value, ParseError> {
        self.enter()?;
        let opening = self.advance()?.span;
        let mut elements = Vec::new();
        let mut comma_missing = false;
        loop {
            match &self.token.kind {
                TokenKind::RightBracket => break,
                TokenKind::Comma => {
                    self.advance()?;
                    comma_missing = false;
                }
                TokenKind::EndOfFile => {
                    return Err(ParseError::new(
                        "list is not closed: found end of file, expected `]`",
                        opening,
                    )
                    .with_help("close the list with `]`"));
                }
                _ if comma_missing => return Err(self.missing_comma()),
                _ => {
                    let element = self.value("a list element or `]`")?;
                    // After a list in a list the original wants no comma.
                    comma_missing = !matches!(element.kind, ValueKind::List(_));
                    elements.push(element);
                }
            }
        }
        let span = opening.start..self.token.span.end;
        self.advance()?;
        self.depth -= 1;
        Ok(Value {
            kind: ValueKind::List(elements),
            span,
        })
    }

    /// Guards the stack: every recursion passes here.
    fn enter(&mut self) -> Result<(), ParseError> {
        if self.depth == MAXIMUM_DEPTH {
            return Err(ParseError::new(
                format!(
                    "found {} inside {MAXIMUM_DEPTH} others, expected no deeper nesting",
                    quoted(&self.lexer.source()[self.token.span.clone()])
                ),
                self.token.span.clone(),
            ));
        }
        self.depth += 1;
        Ok(())
    }
}

fn unclosed_object(opening: &Span) -> ParseError {
    ParseError::new(
        "block is not closed: found end of file, expected `}`",
        opening.clone(),
    )
    .with_help("close the block with `}`")
}
