//! The life of a process: shutdown, supervised tasks, signals and the log.
//!
//! The crate knows no service. Signals and the log are process-wide, so only an executable asks for them; a
//! library gets a cancellation token and spawns on [`Tasks`].
#![warn(missing_docs)]

mod log;
mod signals;
mod tasks;

pub use log::{
    LONGEST_DATAGRAM, LogError, LogFormat, LogLevel, LogSettings, SYSLOG_SOCKETS, SyslogError,
    SyslogSettings, init_log, visible,
};
pub use signals::StopSignals;
pub use tasks::{TaskFailure, Tasks};
