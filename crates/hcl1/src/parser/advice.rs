//! Messages for tokens in the wrong place, with help for common mistakes.

use super::Parser;
use crate::ast::Key;
use crate::error::{ParseError, quoted};
use crate::lexer::TokenKind;

impl Parser<'_> {
    fn found(&self) -> String {
        self.token.description(self.lexer.source())
    }

    fn error(&self, message: String, help: Option<String>) -> ParseError {
        ParseError::new(message, self.token.span.clone()).with_optional_help(help)
    }

    /// The current token can neither be a further key nor end the keys.
    pub(super) fn unexpected_behind_keys(&self, keys: &[Key]) -> ParseError {
        let found = self.found();
        match keys {
            [] => self.error(
                format!("found {found}, expected a key"),
                self.help_for_key(),
            ),
            [key, _, ..] if matches!(self.token.kind, TokenKind::Equals) => self.error(
                "found `=` after a label, expected `{`".to_owned(),
                Some(format!(
                    "write a block with label without `=`; or, if {} is an attribute, \
                     put `=` directly behind it",
                    written(key)
                )),
            ),
            [.., last] => {
                let last = written(last);
                self.error(
                    format!("found {found}, expected `=` or `{{` after {last}"),
                    self.help_behind_key(&last),
                )
            }
        }
    }

    /// The current token can not start a value.
    pub(super) fn unexpected_for_value(&self, expected: &str) -> ParseError {
        let found = self.found();
        if let TokenKind::BadNumber(fault) = &self.token.kind {
            let help = fault
                .help
                .map_or_else(|| self.quote_it(), |help| Some(help.to_owned()));
            return self.error(format!("found {found}, {}", fault.reason), help);
        }
        self.error(
            format!("found {found}, expected {expected}"),
            self.help_for_value(),
        )
    }

    /// The current token follows a list element without comma.
    pub(super) fn missing_comma(&self) -> ParseError {
        let help = match self.token.kind {
            TokenKind::Equals | TokenKind::RightBrace => "close the list with `]`",
            TokenKind::Stray(';') => "separate the elements with `,`",
            _ => "separate the elements with `,`, or close the list with `]` if it ends before",
        };
        self.error(
            format!(
                "found {}, expected `,` or `]` after a list element",
                self.found()
            ),
            Some(help.to_owned()),
        )
    }

    fn help_for_key(&self) -> Option<String> {
        let help = match &self.token.kind {
            TokenKind::Word(_) | TokenKind::Number(_) | TokenKind::BadNumber(_) => {
                return self.quote_it();
            }
            TokenKind::Comma => "at most one comma may follow an item",
            TokenKind::RightBrace => {
                "no block is open here; remove the `}` or look for one too many"
            }
            TokenKind::RightBracket => "no list is open here; remove the `]`",
            TokenKind::LeftBrace => "write the name of the block before the `{`",
            TokenKind::Equals => "write a key before the `=`",
            TokenKind::Stray(character) => return stray_help(*character).map(str::to_owned),
            TokenKind::String(_)
            | TokenKind::Heredoc(_)
            | TokenKind::LeftBracket
            | TokenKind::EndOfFile => return None,
        };
        Some(help.to_owned())
    }

    fn help_behind_key(&self, key: &str) -> Option<String> {
        match &self.token.kind {
            TokenKind::Stray(':') => Some("write `=` instead of `:`".to_owned()),
            TokenKind::Stray(character) => stray_help(*character).map(str::to_owned),
            TokenKind::Number(_)
            | TokenKind::BadNumber(_)
            | TokenKind::Word(_)
            | TokenKind::Heredoc(_)
            | TokenKind::LeftBracket => Some(format!("put `=` between {key} and its value")),
            TokenKind::EndOfFile | TokenKind::RightBrace | TokenKind::Comma => Some(format!(
                "give {key} a value with `=`, or a block with `{{ }}`"
            )),
            TokenKind::String(_)
            | TokenKind::LeftBrace
            | TokenKind::RightBracket
            | TokenKind::Equals => None,
        }
    }

    fn help_for_value(&self) -> Option<String> {
        let rest = &self.lexer.source()[self.token.span.end..];
        match &self.token.kind {
            TokenKind::Word("null") => {
                Some("there is no `null`; leave the key out instead".to_owned())
            }
            TokenKind::Word(word) => {
                let lower_case = word.to_ascii_lowercase();
                if matches!(lower_case.as_str(), "true" | "false") {
                    Some(format!("write `{lower_case}` in lower case"))
                } else if starts_with_equals(rest) {
                    Some(format!("the key before {} has no value", quoted(word)))
                } else if rest.starts_with('(') {
                    Some("there are no functions; write the value itself".to_owned())
                } else {
                    self.quote_it()
                }
            }
            TokenKind::Stray('+') if rest.starts_with(|next: char| next.is_ascii_digit()) => {
                Some("write the number without `+`".to_owned())
            }
            TokenKind::Stray('-')
                if rest
                    .trim_start()
                    .starts_with(|next: char| next.is_ascii_digit()) =>
            {
                Some("put the `-` directly before the digits".to_owned())
            }
            TokenKind::Stray(':') => Some("write `=` alone".to_owned()),
            TokenKind::Stray(character) => {
                stray_help(*character).map_or_else(|| self.quote_it(), |help| Some(help.to_owned()))
            }
            TokenKind::Equals => Some("write a single `=`".to_owned()),
            TokenKind::RightBrace | TokenKind::Comma => {
                Some("write a value, or remove the key".to_owned())
            }
            TokenKind::RightBracket
            | TokenKind::String(_)
            | TokenKind::Heredoc(_)
            | TokenKind::Number(_)
            | TokenKind::BadNumber(_)
            | TokenKind::LeftBrace
            | TokenKind::LeftBracket
            | TokenKind::EndOfFile => None,
        }
    }

    /// The advice to quote the unquoted text that starts at the current token.
    fn quote_it(&self) -> Option<String> {
        const LONGEST: usize = 60;
        let rest = &self.lexer.source()[self.token.span.start..];
        let ends = |character: char| {
            character.is_whitespace()
                || matches!(
                    character,
                    ',' | '"' | '[' | ']' | '{' | '}' | '#' | '=' | '(' | ')'
                )
        };
        let mut text = String::new();
        for character in rest.chars().take_while(|character| !ends(*character)) {
            if text.len() > LONGEST || character.is_control() {
                return Some("put it between double quotes".to_owned());
            }
            if character == '\\' {
                text.push('\\');
            }
            text.push(character);
        }
        if is_reference(&text) {
            return Some(
                "write the value itself: files of cts have no variables, locals or functions"
                    .to_owned(),
            );
        }
        (!text.is_empty()).then(|| format!("quote it: \"{text}\""))
    }
}

/// Whether a word refers to a value as in the files of Terraform.
fn is_reference(word: &str) -> bool {
    let prefixes = ["var.", "local.", "data.", "module.", "each."];
    prefixes.iter().any(|prefix| word.starts_with(prefix))
}

/// A key as it is named in a message: a quoted one is shown only in its quotes, without content,
/// because it may be a value whose `=` is missing.
fn written(key: &Key) -> String {
    if key.quoted {
        "the quoted key".to_owned()
    } else {
        quoted(&key.text)
    }
}

fn starts_with_equals(rest: &str) -> bool {
    // Looks at a bounded stretch only.
    rest.chars()
        .take(16)
        .find(|character| *character != ' ' && *character != '\t')
        == Some('=')
}

fn stray_help(character: char) -> Option<&'static str> {
    match character {
        ';' => Some("there is no `;`; separate with a line break or a comma"),
        '\'' => Some("write double quotes (`\"`) instead of single ones"),
        '`' => Some("write double quotes (`\"`) instead of backquotes"),
        '“' | '”' | '„' | '‘' | '’' | '«' | '»' => {
            Some("write straight double quotes (`\"`)")
        }
        '\u{feff}' => Some("remove the byte order mark"),
        '<' => Some("a heredoc starts with `<<` and a marker: `<<EOF`"),
        '(' | ')' | '!' | '?' | '$' => {
            Some("there are no expressions; write the value itself, text between double quotes")
        }
        other if other.is_whitespace() => Some("this is not an ordinary blank; replace it by one"),
        _ => None,
    }
}
