//! Expressions over service names, in the syntax of Go's package `regexp` (docs/configuration.md#condition).
//!
//! The engine is the crate `regex`, a relative of the original's engine with the same guarantee of linear time. Its
//! syntax differs in details, so the configured text is translated first: a text that the original refuses is refused
//! here, and a text that both accept means the same.

mod class;
mod escape;
mod invalid_regexp;
mod translation;

use std::fmt;

use regex::{Regex, RegexBuilder};
use regex_syntax::Parser;
use regex_syntax::hir::Look;
use regex_syntax::hir::literal::Extractor;

pub use self::invalid_regexp::InvalidRegexp;

/// The nesting limit of groups in Go.
const DEEPEST: u32 = 1000;

/// A compiled expression over service names, not anchored. An empty expression matches every name.
#[derive(Clone)]
pub struct Regexp {
    text: String,
    compiled: Regex,
}

impl Regexp {
    /// Compiles a `regexp` as configured.
    ///
    /// The original pastes the text between quotes of a template, where `\d` breaks and only `\\d` works
    /// (docs/compatibility.md). Both mean the digit here, because no service has a backslash in its name: see
    /// [`Regexp::has_doubled_backslashes`].
    pub fn new(text: &str) -> Result<Self, InvalidRegexp> {
        let folded = if Self::has_doubled_backslashes(text) {
            text.replace(r"\\", r"\")
        } else {
            text.to_owned()
        };
        let translated = translation::translate(&folded)?;
        let compiled = RegexBuilder::new(&translated)
            .nest_limit(DEEPEST)
            .build()
            .map_err(|error| refused(&error))?;
        Ok(Self {
            text: text.to_owned(),
            compiled,
        })
    }

    /// Returns whether a text has backslashes and all of them are doubled: then it was written for the template of
    /// the original.
    pub fn has_doubled_backslashes(text: &str) -> bool {
        text.contains('\\') && !text.replace(r"\\", "").contains('\\')
    }

    /// The text as configured.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a part of the name matches.
    pub fn is_match(&self, name: &str) -> bool {
        self.compiled.is_match(name)
    }

    /// The longest prefix of all matching names; empty if names may begin in several ways.
    pub fn prefix(&self) -> String {
        let Ok(parsed) = Parser::new().parse(self.compiled.as_str()) else {
            return String::new();
        };
        if !parsed.properties().look_set_prefix().contains(Look::Start) {
            return String::new();
        }
        let beginnings = Extractor::new().extract(&parsed);
        let common = beginnings.longest_common_prefix().unwrap_or_default();
        String::from_utf8_lossy(common).into_owned()
    }
}

/// Only the reason: the error also shows the translated text, which differs from the configured text.
fn refused(error: &regex::Error) -> InvalidRegexp {
    InvalidRegexp::Refused(match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("it needs more than the {limit} bytes of memory that an expression may take")
        }
        other => {
            let text = other.to_string();
            let reason = text.rsplit("error: ").next().unwrap_or(&text);
            reason.trim().to_lowercase()
        }
    })
}

impl fmt::Debug for Regexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Regexp").field(&self.text).finish()
    }
}

impl PartialEq for Regexp {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Regexp {}

#[cfg(test)]
mod tests;
