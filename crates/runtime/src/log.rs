//! The log on standard error (spec/cli.md 4, "Log line form").

use std::fmt;
use std::io;
use std::sync::Arc;

use chrono::{Local, SecondsFormat};
use cts_core::Clock;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// How much is logged (spec/config.md 3, `log_level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// What each call does.
    Debug,
    /// Life cycle and decisions.
    #[default]
    Info,
    /// Recovered or degraded.
    Warn,
    /// Somebody must look.
    Error,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-02-03T10:15:30.123+0100 [INFO]  ctrl: message: key=value`.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Installs the log of this process; for executables only, once.
pub fn init_log(
    level: LogLevel,
    format: LogFormat,
    clock: Arc<dyn Clock>,
) -> Result<(), TryInitError> {
    let ours = match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    // Libraries below us are of interest only when they complain.
    let libraries = [
        "h2",
        "hyper",
        "hyper_util",
        "reqwest",
        "sqlx",
        "tonic",
        "tower",
        "rustls",
    ];
    let filter = Targets::new()
        .with_default(ours)
        .with_targets(libraries.map(|library| (library, ours.min(LevelFilter::WARN))));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false);
    match format {
        LogFormat::Text => registry
            .with(layer.event_format(TextFormat { clock }))
            .try_init(),
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    }
}

struct TextFormat {
    clock: Arc<dyn Clock>,
}

impl<S, N> FormatEvent<S, N> for TextFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let time = self
            .clock
            .now()
            .with_timezone(&Local)
            .to_rfc3339_opts(SecondsFormat::Millis, false);
        // The original writes the zone without a colon.
        let (time, zone) = time.split_at(time.len() - 6);
        let level = match *event.metadata().level() {
            Level::TRACE => "[TRACE]",
            Level::DEBUG => "[DEBUG]",
            Level::INFO => "[INFO] ",
            Level::WARN => "[WARN] ",
            Level::ERROR => "[ERROR]",
        };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let target = event.metadata().target();
        let name = target
            .split("::")
            .next()
            .unwrap_or(target)
            .trim_start_matches("cts_");
        write!(
            line,
            "{time}{} {level} {name}: {}",
            zone.replace(':', ""),
            fields.message
        )?;
        if !fields.others.is_empty() {
            write!(line, ":{}", fields.others)?;
        }
        writeln!(line)
    }
}

/// Collects an event's message and its other fields, quoted where a reader could be misled: what comes
/// from Consul or the API can neither begin a line nor fake a field.
#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = one_line(value);
            return;
        }
        let plain = !value.is_empty()
            && value
                .chars()
                .all(|c| !c.is_whitespace() && !c.is_control() && c != '"' && c != '=');
        let shown = if plain { value } else { format!("{value:?}") };
        self.others.push(' ');
        self.others.push_str(field.name());
        self.others.push('=');
        self.others.push_str(&shown);
    }
}

fn one_line(text: String) -> String {
    if text.contains(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use chrono::{DateTime, Utc};

    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> DateTime<Utc> {
            DateTime::from_timestamp(1_770_000_000, 123_000_000).unwrap()
        }
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn hostile_values_stay_on_their_line_and_in_their_field() {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .event_format(TextFormat {
                clock: Arc::new(Fixed),
            });
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: "ctrl", task_name = "web", path = "a\nfake: b=c", "task ran");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let (_time, rest) = text.split_once(' ').unwrap();
        assert_eq!(
            rest,
            "[INFO]  ctrl: task ran: task_name=web path=\"a\\nfake: b=c\"\n"
        );
        assert_eq!(text.find('T'), Some(10));
        assert_eq!(text.as_bytes()[23], b'+');
    }
}
