//! Destinations of lines.

use parking_lot::Mutex;
use std::io::Write;
use std::sync::Arc;

use chrono::Local;
use cts_core::{Clock, LogLevel};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::log::format::LogFormat;
use crate::log::line::{Line, TraceOfSpan, Value};
use crate::log::relay::LogRelay;
use crate::log::syslog::{SendOutcome, Syslog};
use crate::log::{json, text};

/// Libraries whose warnings are lines for debugging; names of their parts begin so.
pub(super) const LIBRARIES: [&str; 9] = [
    "h2",
    "hyper",
    "hyper_util",
    "opentelemetry",
    "reqwest",
    "sqlx",
    "tonic",
    "tower",
    "rustls",
];

/// Writes every event, as a whole, to standard error and perhaps to syslog.
pub(super) struct Output {
    format: LogFormat,
    clock: Arc<dyn Clock>,
    console: Mutex<Box<dyn Write + Send>>,
    syslog: Option<Syslog>,
    relay: Option<LogRelay>,
}

impl Output {
    pub(super) fn new(
        format: LogFormat,
        clock: Arc<dyn Clock>,
        console: Box<dyn Write + Send>,
        syslog: Option<Syslog>,
        relay: Option<LogRelay>,
    ) -> Self {
        Self {
            format,
            clock,
            console: Mutex::new(console),
            syslog,
            relay,
        }
    }

    fn to_console(&self, line: &Line) {
        let mut shown = match self.format {
            LogFormat::Text => text::shown(line),
            LogFormat::Json => json::shown(line),
        };
        shown.push('\n');
        let mut console = self.console.lock();
        // Without a reader the error cannot be reported anywhere.
        drop(console.write_all(shown.as_bytes()));
    }

    fn to_syslog(&self, syslog: &Syslog, line: &Line) {
        let shown = match self.format {
            LogFormat::Text => text::on_one_line(line),
            LogFormat::Json => json::shown(line),
        };
        match syslog.send(&shown, &line.time) {
            SendOutcome::Sent | SendOutcome::Lost => {}
            SendOutcome::FirstLost(error) => {
                let error = Value::Text(error.to_string());
                let message = "syslog takes no lines, which are lost there until it does";
                self.to_console(&own(line, message, ("error", error)));
            }
            SendOutcome::SentAfter(lost) => {
                let message = "syslog takes lines again";
                self.to_console(&own(line, message, ("lost_lines", Value::Unsigned(lost))));
            }
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Output {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let (Some(trace), Some(span)) = (TraceOfSpan::of(attributes), context.span(id)) {
            span.extensions_mut().insert(trace);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = Line::of(event, self.clock.now().with_timezone(&Local));
        if is_of_library(&line.module) {
            line.level = LogLevel::Debug;
        }
        let mut spans = context.event_scope(event).into_iter().flatten();
        line.trace = spans.find_map(|span| span.extensions().get::<TraceOfSpan>().cloned());
        self.to_console(&line);
        if let Some(syslog) = &self.syslog {
            self.to_syslog(syslog, &line);
        }
        if let Some(relay) = &self.relay {
            relay.pass_on(&line);
        }
    }
}

/// Makes a line of the log about itself. An event cannot say it, because one is being written.
fn own(on: &Line, message: &str, field: (&'static str, Value)) -> Line {
    Line {
        time: on.time,
        level: LogLevel::Warn,
        module: "logging".to_owned(),
        message: message.to_owned(),
        fields: vec![field],
        trace: None,
    }
}

/// Whether a part of the program is a library.
fn is_of_library(module: &str) -> bool {
    LIBRARIES.iter().any(|library| module.starts_with(library))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::net::UnixDatagram;

    use chrono::{DateTime, Utc};
    use tempfile::TempDir;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::log::SyslogSettings;

    #[derive(Debug)]
    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> DateTime<Utc> {
            DateTime::from_timestamp(1_770_000_000, 123_000_000).unwrap()
        }
    }

    #[derive(Clone, Default)]
    struct Console(Arc<Mutex<Vec<u8>>>);

    impl Write for Console {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Console {
        /// Returns the written lines, without the times.
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().clone()).unwrap();
            let without_time = |line: &str| match line.split_once(" [") {
                Some((_time, rest)) => format!("[{rest}"),
                None => line.to_owned(),
            };
            text.lines().map(without_time).collect()
        }
    }

    fn logged(format: LogFormat, syslog: Option<Syslog>, events: impl FnOnce()) -> Console {
        let console = Console::default();
        let writer = Box::new(console.clone());
        let output = Output::new(format, Arc::new(Fixed), writer, syslog, None);
        let log = tracing_subscriber::registry().with(output);
        tracing::subscriber::with_default(log, events);
        console
    }

    #[test]
    fn events_are_lines_without_the_spans_around_them() {
        let console = logged(LogFormat::Text, None, || {
            let span = tracing::info_span!("request", secret = "x").entered();
            tracing::info!(target: "ctrl", task_name = "web", count = 3, "task ran");
            tracing::error!(path = %"a\nfake: b=c", "look");
            drop(span);
        });
        assert_eq!(
            console.lines(),
            [
                "[INFO]  ctrl: task ran: task_name=web count=3",
                "[ERROR] runtime: look:",
                "  path=",
                "  | a",
                "  | fake: b=c",
            ]
        );
    }

    #[test]
    fn warnings_of_libraries_are_for_debugging() {
        let console = logged(LogFormat::Text, None, || {
            tracing::warn!(target: "sqlx_core::pool::inner", "no connection");
        });
        assert_eq!(console.lines(), ["[DEBUG] sqlx_core: no connection"]);
    }

    #[test]
    fn errors_are_told_with_their_causes() {
        let console = logged(LogFormat::Json, None, || {
            let error = io::Error::other("disk gone");
            tracing::warn!(error = &error as &(dyn std::error::Error + 'static), "look");
        });
        let line: serde_json::Value = serde_json::from_str(&console.lines()[0]).unwrap();
        assert_eq!(line["module"], "runtime");
        assert_eq!(line["fields"], serde_json::json!({"error": "disk gone"}));
    }

    #[test]
    fn syslog_gets_each_event_as_one_line_and_its_silence_is_said_once() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("log");
        let socket = UnixDatagram::bind(&path).unwrap();
        let syslog = Syslog::open(SyslogSettings {
            facility: 16,
            name: "cts".into(),
            process: 7,
            sockets: vec![path.clone()],
        });
        let console = logged(LogFormat::Text, Some(syslog.unwrap()), || {
            tracing::info!(target: "ctrl", plan = "a\nb", "plan");
            std::fs::remove_file(&path).unwrap();
            tracing::info!(target: "ctrl", "first");
            tracing::info!(target: "ctrl", "second");
            // Listens at the same path again.
            let back = UnixDatagram::bind(&path).unwrap();
            tracing::info!(target: "ctrl", "third");
            drop(back);
        });
        let mut buffer = [0; 1000];
        let length = socket.recv(&mut buffer).unwrap();
        let datagram = String::from_utf8_lossy(&buffer[..length]).into_owned();
        assert!(datagram.starts_with("<133>"), "{datagram}");
        assert!(
            datagram.contains(" cts[7]: ")
                && datagram.ends_with(" [INFO]  ctrl: plan: plan=\"a\\nb\""),
            "{datagram}"
        );
        let lines = console.lines();
        let about: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("logging:"))
            .collect();
        let [lost, back] = about.as_slice() else {
            panic!("{lines:#?}");
        };
        assert!(
            lost.contains("[WARN]  logging: syslog takes no lines"),
            "{lost}"
        );
        assert!(back.ends_with("lost_lines=2"), "{back}");
    }
}
