//! Words of the API, to which servers add new ones.

use cts_core::excerpt;
use serde::Deserialize;

/// A word of the server, such as a status, as one line of limited length.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Word(String);

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self(excerpt(&text, 60))
    }
}

impl Word {
    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
