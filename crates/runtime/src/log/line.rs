//! Content of an event, taken out of it once for all destinations.

use std::error::Error;
use std::fmt;

use chrono::{DateTime, Local};
use cts_core::{Chain, LogLevel};
use tracing::field::{Field, Visit};
use tracing::span::Attributes;
use tracing::{Event, Level};

/// Prefix of the fields that the bridge from the `log` crate adds.
const BRIDGE: &str = "log.";

/// One event. Spans are left out, except for the id of a trace: whatever matters is a field of the event.
#[derive(Debug, Clone)]
pub struct Line {
    /// When it was logged.
    pub time: DateTime<Local>,
    pub level: LogLevel,
    /// The part of the program, as `ctrl` or `scheduler`.
    pub module: String,
    pub message: String,
    /// Its fields, in their order.
    pub fields: Vec<(&'static str, Value)>,
    /// Id of the trace that it belongs to.
    pub trace: Option<TraceOfSpan>,
}

/// Id of a trace, which a span gives to all lines inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOfSpan(pub String);

/// The field with the id of a trace, of spans and in JSON.
pub(super) const TRACE_ID: &str = "trace.id";

impl TraceOfSpan {
    /// The id that a new span has, if it has one.
    pub(super) fn of(attributes: &Attributes<'_>) -> Option<Self> {
        let mut found = TraceField(None);
        attributes.record(&mut found);
        found.0.map(Self)
    }
}

struct TraceField(Option<String>);

impl Visit for TraceField {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == TRACE_ID {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number that may be negative.
    Signed(i64),
    /// A number that is not negative.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
}

impl Line {
    pub(super) fn of(event: &Event<'_>, time: DateTime<Local>) -> Self {
        let mut collected = Collected::default();
        event.record(&mut collected);
        let target = collected.bridged_target.as_deref();
        let target = target.unwrap_or_else(|| event.metadata().target());
        let module = target.split("::").next().unwrap_or(target);
        Self {
            time,
            level: match *event.metadata().level() {
                Level::TRACE => LogLevel::Trace,
                Level::DEBUG => LogLevel::Debug,
                Level::INFO => LogLevel::Info,
                Level::WARN => LogLevel::Warn,
                Level::ERROR => LogLevel::Error,
            },
            module: module.trim_start_matches("cts_").to_owned(),
            message: collected.message,
            fields: collected.fields,
            trace: None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => flag.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

#[derive(Default)]
struct Collected {
    message: String,
    fields: Vec<(&'static str, Value)>,
    /// Origin of an event of the `log` crate.
    bridged_target: Option<String>,
}

impl Collected {
    fn add(&mut self, field: &Field, value: Value) {
        match field.name() {
            "message" => self.message = value.to_string(),
            "log.target" => self.bridged_target = Some(value.to_string()),
            name if name.starts_with(BRIDGE) => {}
            name => self.fields.push((name, value)),
        }
    }
}

impl Visit for Collected {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::Text(value.to_owned()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::Flag(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::Unsigned(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Value::Float(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add(field, Value::Text(Chain(value).to_string()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, Value::Text(format!("{value:?}")));
    }
}
