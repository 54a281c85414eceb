//! Reasons why a filter is not sent.

/// A filter cannot be sent to Consul. Positions are characters of the text, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFilter {
    /// The text is too long.
    #[error("it has {bytes} bytes, more than {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// Parentheses are nested too deep.
    #[error("more than {limit} parentheses are open at character {position}")]
    TooDeep {
        /// Maximum number of open parentheses.
        limit: u32,
        /// The first excess parenthesis.
        position: usize,
    },
    /// Quotes are not closed.
    #[error("the string that begins at character {position} has no end")]
    OpenString {
        /// The opening quotes.
        position: usize,
    },
    /// A bracket is not closed.
    #[error("`{bracket}` at character {position} is not closed")]
    OpenBracket {
        /// The opening bracket.
        bracket: char,
        /// Position of the bracket.
        position: usize,
    },
    /// A bracket closes no open bracket of its kind.
    #[error("`{bracket}` at character {position} closes nothing")]
    ClosesNothing {
        /// The closing bracket.
        bracket: char,
        /// Position of the bracket.
        position: usize,
    },
    /// An operator lacks its right operand.
    #[error("the operator at character {position} has nothing to its right")]
    OpenOperator {
        /// The beginning of the operator.
        position: usize,
    },
    /// A valid filter is too long for its depth.
    #[error(
        "too much stands inside of the parentheses at character {position}: each level takes Consul four times as long"
    )]
    TooMuchWork {
        /// The innermost parenthesis.
        position: usize,
    },
    /// The filter is too deep for words that may be invalid.
    #[error(
        "too much stands inside of the parentheses at character {position} of an expression that Consul 1.8 cannot read"
    )]
    Unknown {
        /// The innermost parenthesis.
        position: usize,
    },
}
