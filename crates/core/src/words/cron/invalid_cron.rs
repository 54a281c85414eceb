//! Errors of cron expressions.

/// A text is no cron expression, or never fires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCron {
    /// Only blanks.
    #[error("a cron expression is required")]
    Empty,
    /// Fewer than five fields.
    #[error(
        "missing field(s): expected at least 5 (minute, hour, day of month, month, day of week), found {0}"
    )]
    MissingFields(usize),
    /// A word that begins with `@` and is no shorthand.
    #[error(
        "unknown shorthand {0:?}: expected @yearly, @annually, @monthly, @weekly, @daily or @hourly"
    )]
    UnknownShorthand(String),
    /// A field without entries.
    #[error("the {field} field has no entry")]
    NoEntry {
        /// Name of the field.
        field: &'static str,
    },
    /// An entry that matches no form of its field.
    #[error("{entry:?} is no entry of the {field} field: expected {expected}")]
    Syntax {
        /// Name of the field.
        field: &'static str,
        /// The entry as written.
        entry: String,
        /// Forms that the field accepts.
        expected: &'static str,
    },
    /// A step of zero, or beyond the last value of the field.
    #[error("the step of {entry:?} in the {field} field must be between 1 and {greatest}")]
    Step {
        /// Name of the field.
        field: &'static str,
        /// The entry as written.
        entry: String,
        /// The largest step.
        greatest: u32,
    },
    /// A range without values.
    #[error("the range {entry:?} in the {field} field is reversed, so it holds no value")]
    ReversedRange {
        /// Name of the field.
        field: &'static str,
        /// The entry as written.
        entry: String,
    },
    /// Days that no month of the expression has.
    #[error("it never fires: no such day exists between 1970 and 2099")]
    Never,
}
