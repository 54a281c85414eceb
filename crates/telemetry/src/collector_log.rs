//! Outages of the collector in the log: one warning for all signals.

use std::sync::Arc;
use std::time::Duration;

use cts_runtime::{Outage, log_failure};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;

/// Logs outages of the collector. Cheap to clone; clones share an outage.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollectorLog(Arc<Mutex<Outage>>);

/// An exporter of one signal, whose failures are logged.
#[derive(Debug)]
pub(crate) struct Logged<E> {
    exporter: E,
    log: CollectorLog,
}

impl CollectorLog {
    pub(crate) fn of<E>(&self, exporter: E) -> Logged<E> {
        let log = self.clone();
        Logged { exporter, log }
    }

    fn note(&self, result: &OTelSdkResult) {
        match result {
            Ok(()) => {
                if self.0.lock().works() {
                    tracing::info!("the collector of telemetry.otlp takes exports again");
                }
            }
            Err(OTelSdkError::AlreadyShutdown) => {}
            Err(error) => {
                let error = innermost(&error.to_string()).to_owned();
                log_failure!(
                    self.0.lock(),
                    error,
                    "the collector of telemetry.otlp takes nothing, so spans and log lines are lost until it does"
                );
            }
        }
    }
}

/// The last cause in the text of an export's error, without the number of the system.
fn innermost(text: &str) -> &str {
    let last = text.rsplit_once(": ").map_or(text, |(_, last)| last);
    last.split_once(" (os error ")
        .map_or(last, |(words, _)| words)
}

impl PushMetricExporter for Logged<opentelemetry_otlp::MetricExporter> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        self.log.note(&result);
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

impl SpanExporter for Logged<opentelemetry_otlp::SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        self.log.note(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl LogExporter for Logged<opentelemetry_otlp::LogExporter> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        self.log.note(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_innermost_cause() {
        let refused = "Operation failed: TonicTracesClient export failed with gRPC code: Unavailable: transport error: tcp connect error: Connection refused (os error 111)";
        assert_eq!(innermost(refused), "Connection refused");
        assert_eq!(innermost("Operation failed"), "Operation failed");
    }
}
