//! Splits the text of a file into tokens.
//!
//! Every byte is looked at a constant number of times, whatever the file contains: a token that is
//! never closed ends the parse, so nothing is scanned to the end twice.

mod heredoc;
mod number;
mod string;

use crate::ast::{Number, Span};
use crate::error::{ParseError, quoted};

pub(crate) use self::number::NumberFault;
use self::number::{continues_word, number, starts_number};

#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum TokenKind<'a> {
    /// An unquoted word, `true` and `false` included.
    Word(&'a str),
    String(String),
    Heredoc(String),
    Number(Number),
    /// Starts like a number but is not one. Not an error of the lexer, because the parser knows whether a key
    /// or a value was meant.
    BadNumber(NumberFault),
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Comma,
    Equals,
    /// A character that starts no token.
    Stray(char),
    EndOfFile,
}

#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    source: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            position: 0,
        }
    }

    pub(crate) fn source(&self) -> &'a str {
        self.source
    }

    /// Returns the next token; after the last one `EndOfFile`, at every further call.
    pub(crate) fn next_token(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip_blanks_and_comments()?;
        let start = self.position;
        let rest = &self.source[start..];
        let mut characters = rest.chars();
        let Some(first) = characters.next() else {
            return Ok(Token {
                kind: TokenKind::EndOfFile,
                span: start..start,
            });
        };
        let kind = match first {
            '"' => TokenKind::String(self.string()?),
            '<' if rest.starts_with("<<") => return self.heredoc(),
            _ if starts_number(rest) => {
                let (length, number) = number(rest);
                self.position += length;
                number.map_or_else(TokenKind::BadNumber, TokenKind::Number)
            }
            _ if starts_word(first) => {
                let length = rest
                    .find(|character| !continues_word(character))
                    .unwrap_or(rest.len());
                self.position += length;
                TokenKind::Word(&rest[..length])
            }
            _ => {
                self.position += first.len_utf8();
                match first {
                    '{' => TokenKind::LeftBrace,
                    '}' => TokenKind::RightBrace,
                    '[' => TokenKind::LeftBracket,
                    ']' => TokenKind::RightBracket,
                    ',' => TokenKind::Comma,
                    '=' => TokenKind::Equals,
                    other => TokenKind::Stray(other),
                }
            }
        };
        Ok(Token {
            kind,
            span: start..self.position,
        })
    }

    fn skip_blanks_and_comments(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = &self.source[self.position..];
            let blanks = rest
                .find(|character| !matches!(character, ' ' | '\t' | '\r' | '\n'))
                .unwrap_or(rest.len());
            self.position += blanks;
            let rest = &rest[blanks..];
            if rest.starts_with('#') || rest.starts_with("//") {
                self.position += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(ParseError::new(
                        "comment not terminated: found end of file, expected `*/`",
                        self.position..self.position + 2,
                    )
                    .with_help("close the comment with `*/`"));
                };
                self.position += "/*".len() + length + "*/".len();
            } else {
                return Ok(());
            }
        }
    }
}

impl Token<'_> {
    /// Returns the name of the token for messages. Never the content of quotes or heredocs.
    pub(crate) fn description(&self, source: &str) -> String {
        match &self.kind {
            TokenKind::Word(word @ ("true" | "false")) => quoted(word),
            TokenKind::Word(word) => format!("the word {}", quoted(word)),
            TokenKind::String(_) => "a string".to_owned(),
            TokenKind::Heredoc(_) => "a heredoc".to_owned(),
            TokenKind::Number(_) => {
                format!("the number {}", quoted(&source[self.span.clone()]))
            }
            TokenKind::BadNumber(_)
            | TokenKind::LeftBrace
            | TokenKind::RightBrace
            | TokenKind::LeftBracket
            | TokenKind::RightBracket
            | TokenKind::Comma
            | TokenKind::Equals
            | TokenKind::Stray(_) => quoted(&source[self.span.clone()]),
            TokenKind::EndOfFile => "end of file".to_owned(),
        }
    }
}

fn starts_word(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}
