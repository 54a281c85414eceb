//! Export of log lines (docs/telemetry.md#otlp).

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::LogLevel;
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::{SpanId, TraceFlags, TraceId};
use opentelemetry_otlp::LogExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};

use crate::collector_log::Logged;
use crate::scope::SCOPE;

/// Exports log lines. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LogExport {
    provider: SdkLoggerProvider,
    logger: SdkLogger,
}

/// A line of the log.
#[derive(Debug, Clone)]
pub struct ExportedLine<'a> {
    /// When it was logged.
    pub time: DateTime<Utc>,
    /// Its level.
    pub level: LogLevel,
    /// The part of the program.
    pub module: &'a str,
    /// The text.
    pub message: &'a str,
    /// Its fields.
    pub fields: Vec<(&'static str, AnyValue)>,
    /// Id of the trace that it belongs to.
    pub trace: Option<&'a str>,
}

impl LogExport {
    pub(crate) fn new(exporter: Logged<LogExporter>, resource: Resource) -> Self {
        let provider = SdkLoggerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        let logger = provider.logger(SCOPE);
        Self { provider, logger }
    }

    /// Exports a line, soon. A line that finds no room is lost.
    pub fn export(&self, line: ExportedLine<'_>) {
        let (severity, name) = severity(line.level);
        let mut record = self.logger.create_log_record();
        record.set_timestamp(line.time.into());
        record.set_observed_timestamp(line.time.into());
        record.set_severity_number(severity);
        record.set_severity_text(name);
        record.set_body(AnyValue::from(line.message.to_owned()));
        record.add_attribute("module", line.module.to_owned());
        record.add_attributes(line.fields);
        let trace = line.trace.and_then(|trace| TraceId::from_hex(trace).ok());
        if let Some(trace) = trace {
            record.set_trace_context(trace, SpanId::INVALID, Some(TraceFlags::SAMPLED));
        }
        self.logger.emit(record);
    }

    pub(crate) fn end(&self, limit: Duration) {
        // A line about the failure would find no exporter any more.
        drop(self.provider.shutdown_with_timeout(limit));
    }
}

const fn severity(level: LogLevel) -> (Severity, &'static str) {
    match level {
        LogLevel::Trace => (Severity::Trace, "TRACE"),
        LogLevel::Debug => (Severity::Debug, "DEBUG"),
        LogLevel::Info => (Severity::Info, "INFO"),
        LogLevel::Warn => (Severity::Warn, "WARN"),
        LogLevel::Error => (Severity::Error, "ERROR"),
    }
}
