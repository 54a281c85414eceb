//! The level of the log.

use std::fmt;

/// Level of the log (docs/configuration.md#top-level, `log_level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// Details of each call.
    Debug,
    /// Life cycle and decisions.
    #[default]
    Info,
    /// Recovered or degraded operation.
    Warn,
    /// A problem needs attention.
    Error,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        })
    }
}
