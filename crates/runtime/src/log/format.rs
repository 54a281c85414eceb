//! Format of the log.

/// Format of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-02-03T10:15:30.123+0100 [INFO]  ctrl: message: key=value`; values of several lines on the
    /// following lines, each with `| ` before it.
    #[default]
    Text,
    /// One JSON object a line: `time`, `level`, `module`, `message` and, if the event has any, `fields`.
    Json,
}
