//! The log: on standard error, and on syslog if asked for (docs/cli.md#log, docs/configuration.md#syslog).

mod format;
mod json;
mod line;
mod output;
mod relay;
mod syslog;
mod text;

use std::io;
use std::sync::Arc;

use cts_core::{Clock, LogLevel};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

use crate::log::output::{LIBRARIES, Output};
use crate::log::syslog::Syslog;

pub use crate::log::format::LogFormat;
pub use crate::log::line::{Line, TraceOfSpan, Value};
pub use crate::log::relay::{LineSink, LogRelay};
pub use crate::log::syslog::{LONGEST_DATAGRAM, SYSLOG_SOCKETS, SyslogError, SyslogSettings};
pub use crate::log::text::visible;

/// Level, format and destinations of the log.
#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    /// Level from which on lines are logged.
    pub level: LogLevel,
    /// Format of a line.
    pub format: LogFormat,
    /// The second destination; standard error is always one.
    pub syslog: Option<SyslogSettings>,
    /// The third destination, which begins later.
    pub relay: Option<LogRelay>,
}

/// The configured log cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// This process has one already.
    #[error("this process has a log already")]
    Installed(#[from] TryInitError),
    /// Syslog cannot be reached.
    #[error(transparent)]
    Syslog(#[from] SyslogError),
}

/// Installs the log of this process; for executables only, once.
///
/// Times are local ones of `clock`; every
/// line goes to `console`, standard error or what shares it with others, in one write. Fails without
/// effect if syslog is asked for and cannot be reached.
pub fn init_log(
    settings: LogSettings,
    console: Box<dyn io::Write + Send>,
    clock: Arc<dyn Clock>,
) -> Result<(), LogError> {
    let syslog = settings.syslog.map(Syslog::open).transpose()?;
    let output = Output::new(settings.format, clock, console, syslog, settings.relay);
    tracing_subscriber::registry()
        .with(filter(settings.level))
        .with(output)
        .try_init()?;
    Ok(())
}

fn filter(level: LogLevel) -> Targets {
    let ours = match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    // Complaints of libraries are details of what cts logs itself.
    let of_libraries = if ours >= LevelFilter::DEBUG {
        LevelFilter::WARN
    } else {
        LevelFilter::OFF
    };
    Targets::new()
        .with_default(ours)
        .with_targets(LIBRARIES.map(|library| (library, of_libraries)))
}
