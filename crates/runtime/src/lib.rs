//! The life of a process: its surroundings, shutdown, supervised tasks, signals, outages and the log.
//!
//! The crate knows no service. Surroundings, signals and the log are process-wide, so only an executable asks for
//! them; a library gets a cancellation token and spawns on [`Tasks`].

mod log;
mod outage;
mod process_env;
mod reachability;
mod signals;
mod tasks;

pub use log::{
    LONGEST_DATAGRAM, Line, LineSink, LogError, LogFormat, LogRelay, LogSettings, SYSLOG_SOCKETS,
    SyslogError, SyslogSettings, TraceOfSpan, Value, init_log, visible,
};
pub use outage::Outage;
pub use process_env::{ProcessEnv, SystemClock};
pub use reachability::{CallBegun, Reachability};
pub use signals::{Order, StopSignals};
pub use tasks::{TaskFailure, Tasks};
