//! Metrics and traces of a process: kept in memory, served to Prometheus, exported over OTLP (docs/telemetry.md).
//!
//! Services record through a [`Meter`](opentelemetry::metrics::Meter), which they get as an argument; without
//! configuration it costs nothing. Start with [`Telemetry`]; [`Listener`] serves metrics and health checks over HTTP.
#![warn(missing_docs)]

mod exporters;
mod listener;
mod process_metrics;
mod readiness;
mod scrape_access;
mod settings;
mod signals;
mod task_names;
mod telemetry;

pub use listener::Listener;
pub use readiness::Readiness;
pub use scrape_access::ScrapeAccess;
pub use settings::{Identity, OtlpSettings, TelemetrySettings};
pub use signals::Signals;
pub use task_names::{OTHER_TASKS, TaskNames};
pub use telemetry::{Metrics, MetricsError, Telemetry, TelemetryError};
