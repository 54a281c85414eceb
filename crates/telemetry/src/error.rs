//! Errors of the settings of telemetry.

use std::io;
use std::path::PathBuf;

use opentelemetry_otlp::ExporterBuildError;
use opentelemetry_sdk::error::OTelSdkError;

/// Telemetry cannot begin as configured.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The file of `telemetry.otlp.ca_cert` cannot be read.
    #[error("`telemetry.otlp.ca_cert` {} cannot be read", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A header that cannot be sent.
    #[error("`telemetry.otlp.headers` has {0:?}, which cannot be sent")]
    Header(String),
    /// The exporter refuses its settings.
    #[error("`telemetry.otlp` cannot be used")]
    Exporter(#[from] ExporterBuildError),
    /// The endpoint of Prometheus cannot be made.
    #[error("metrics cannot be served")]
    Prometheus(#[from] OTelSdkError),
}
