//! Errors of regular expressions.

/// A text is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRegexp {
    /// Syntax that is not supported.
    #[error("{reason}: `{part}`")]
    Syntax {
        /// Reason of the refusal.
        reason: &'static str,
        /// The part of the text that is refused.
        part: String,
    },
    /// A Unicode class that does not exist, or an expression that would need too much memory.
    #[error("{0}")]
    Refused(String),
}

impl InvalidRegexp {
    pub(super) fn syntax(reason: &'static str, part: &str) -> Self {
        /// Maximum length of a shown part: many parts reach up to the end of the text.
        const SHOWN: usize = 60;
        let part = match part.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &part[..end]),
            None => part.to_owned(),
        };
        Self::Syntax { reason, part }
    }
}
