//! Ends of a search in a log, in words.

use crate::log::v1::LogSearchState;

impl LogSearchState {
    /// Reason for which a search ended before it had read the whole log; `None` for other states.
    pub const fn early_end(self) -> Option<&'static str> {
        match self {
            Self::Full => Some("1000 lines are found"),
            Self::TimedOut => Some("60 seconds are over"),
            Self::Replaced => Some("a newer search has ended this search"),
            _ => None,
        }
    }
}
