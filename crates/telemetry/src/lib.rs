//! Metrics and traces of a process: kept in memory, served to Prometheus, exported over OTLP (docs/telemetry.md).
//!
//! Services record through a [`Meter`](opentelemetry::metrics::Meter), which they get as an argument; without
//! configuration it costs nothing. Start with [`Telemetry`]; [`Listener`] serves metrics and health checks over HTTP.
//!
//! The SDK of OpenTelemetry, the exporters and the listener are in this crate alone. Each crate declares its
//! instruments in one file, `metrics.rs`. The log stays in `cts-runtime`: it works before there is a configuration,
//! and keeps its first lines for an exporter that begins later.
#![warn(missing_docs)]

mod collector_log;
mod error;
mod exporters;
mod held_spans;
mod listener;
mod log_export;
mod process_metrics;
mod readiness;
mod scope;
mod scrape_access;
mod settings;
mod signals;
mod task_names;
mod telemetry;
mod traces;

pub use error::TelemetryError;
pub use held_spans::HeldSpans;
pub use listener::Listener;
pub use log_export::{ExportedLine, LogExport};
pub use opentelemetry::logs::AnyValue;
pub use readiness::Readiness;
pub use scrape_access::ScrapeAccess;
pub use settings::{Identity, OtlpSettings, TelemetrySettings};
pub use signals::Signals;
pub use task_names::{OTHER_TASKS, TaskNames};
pub use telemetry::{Metrics, MetricsError, Telemetry};
pub use traces::{SamplingRate, Span, Traces};
