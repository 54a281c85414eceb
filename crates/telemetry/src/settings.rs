//! Settings of telemetry.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Clock;
use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_semantic_conventions::attribute::{
    HOST_NAME, SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_NAMESPACE, SERVICE_VERSION,
};
use secrecy::SecretString;

/// The process that telemetry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Role: `start`, `watcher`, `scheduler`, `worker` or `gateway`.
    pub role: &'static str,
    /// Id of this process, unique among those of its role.
    pub instance: String,
    /// Name of the host.
    pub host: String,
    /// Version of cts.
    pub version: &'static str,
    /// Commit of the build; empty if unknown.
    pub commit: &'static str,
}

/// Destinations of measurements and traces.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The process.
    pub identity: Identity,
    /// Whether [`Metrics`](crate::Metrics) are wanted, for a listener.
    pub served: bool,
    /// The collector, if there is one.
    pub otlp: Option<OtlpSettings>,
    /// Percentage of the traces of successful runs that is exported.
    pub traces_kept: u32,
    /// The clock of spans.
    pub clock: Arc<dyn Clock>,
}

/// A collector that speaks OTLP over gRPC.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// URL of `http` or `https`.
    pub endpoint: String,
    /// Headers of each request, in small letters.
    pub headers: BTreeMap<String, SecretString>,
    /// PEM file of authorities; `None` for those of the system.
    pub ca_cert: Option<PathBuf>,
    /// Interval between two exports of metrics.
    pub interval: Duration,
    /// Whether metrics are exported.
    pub metrics: bool,
    /// Whether traces are exported.
    pub traces: bool,
    /// Whether the lines of the log are exported.
    pub logs: bool,
}

impl Identity {
    /// The resource attributes of all signals (docs/telemetry.md#resource).
    pub(crate) fn resource(&self) -> Resource {
        Resource::builder_empty()
            .with_attributes([
                KeyValue::new(SERVICE_NAMESPACE, "cts"),
                KeyValue::new(SERVICE_NAME, format!("cts-{}", self.role)),
                KeyValue::new(SERVICE_INSTANCE_ID, self.instance.clone()),
                KeyValue::new(SERVICE_VERSION, self.version),
                KeyValue::new(HOST_NAME, self.host.clone()),
            ])
            .build()
    }
}
