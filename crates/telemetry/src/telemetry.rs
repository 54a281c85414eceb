//! The instruments and spans of a process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::noop::NoopMeterProvider;
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry_sdk::metrics::{
    Aggregation, Instrument, InstrumentKind, SdkMeterProvider, Stream,
};
use prometheus::{Registry, TextEncoder};

use crate::collector_log::CollectorLog;
use crate::error::TelemetryError;
use crate::exporters;
use crate::log_export::LogExport;
use crate::process_metrics;
use crate::scope::SCOPE;
use crate::settings::{Identity, TelemetrySettings};
use crate::signals::Signals;
use crate::task_names::TaskNames;
use crate::traces::{SamplingRate, Traces};

/// Longest time for the last export of a process.
const LAST_EXPORT_LIMIT: Duration = Duration::from_secs(2);

/// Upper bounds of the buckets of every histogram, in seconds: 1 ms to 1 h.
const BOUNDARIES: [f64; 17] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3600.0,
];

/// The instrument whose series are tasks.
const LABELLED_BY_TASK: &str = "cts.task.failures";

/// Its most series: as many as `telemetry.task_names` may be, and the others.
const MOST_TASKS: usize = 10_001;

/// The most series of a duration of calls: methods and routes with their statuses.
const MOST_CALLS: usize = 1_000;

/// The most series of any other instrument.
const MOST_SERIES: usize = 100;

/// Metrics and traces of this process. Cheap to clone.
///
/// [`Telemetry::off`] records nothing: its meter costs next to nothing.
#[derive(Debug, Clone)]
pub struct Telemetry {
    provider: Option<SdkMeterProvider>,
    metrics: Option<Metrics>,
    meter: Meter,
    traces: Traces,
    logs: Option<LogExport>,
}

/// The present values of all instruments. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Registry);

/// The values cannot be shown.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be encoded")]
pub struct MetricsError(#[from] prometheus::Error);

impl Signals {
    /// Records nothing.
    pub fn off() -> Self {
        Telemetry::off().signals(TaskNames::new(0))
    }
}

impl Telemetry {
    /// Records nothing.
    pub fn off() -> Self {
        Self {
            provider: None,
            metrics: None,
            meter: NoopMeterProvider::new().meter(SCOPE),
            traces: Traces::off(),
            logs: None,
        }
    }

    /// Begins to record what `settings` ask for. Nothing is sent yet, so an unreachable collector is no error. Must be
    /// called inside a runtime.
    ///
    /// # Errors
    /// If the settings of the collector cannot be used.
    pub fn start(settings: &TelemetrySettings) -> Result<Self, TelemetryError> {
        let log = CollectorLog::default();
        let off = Self {
            traces: traces(settings, &log)?,
            logs: logs(settings, &log)?,
            ..Self::off()
        };
        let exported = settings.otlp.as_ref().filter(|otlp| otlp.metrics);
        if exported.is_none() && !settings.served {
            return Ok(off);
        }
        let mut provider = SdkMeterProvider::builder()
            .with_resource(settings.identity.resource())
            .with_view(stream);
        let mut metrics = None;
        if settings.served {
            let registry = Registry::new();
            let exporter = opentelemetry_prometheus::exporter()
                .with_registry(registry.clone())
                .scope_info_enabled(false)
                .build()?;
            provider = provider.with_reader(exporter);
            metrics = Some(Metrics(registry));
        }
        if let Some(otlp) = exported {
            provider = provider.with_reader(exporters::metrics(otlp, &log)?);
        }
        let provider = provider.build();
        let meter = provider.meter(SCOPE);
        describe_build(&meter, &settings.identity);
        process_metrics::observe(&meter);
        Ok(Self {
            provider: Some(provider),
            metrics,
            meter,
            ..off
        })
    }

    /// The signals of a service of this process.
    pub fn signals(&self, task_names: TaskNames) -> Signals {
        Signals {
            meter: self.meter.clone(),
            traces: self.traces.clone(),
            task_names,
        }
    }

    /// Takes log lines, if they are exported.
    pub fn logs(&self) -> Option<LogExport> {
        self.logs.clone()
    }

    /// The values to serve, if they are wanted.
    pub fn metrics(&self) -> Option<Metrics> {
        self.metrics.clone()
    }

    /// Exports once more and ends, within 2 s for each signal. Blocks the thread.
    pub fn end(&self) {
        self.traces.end(LAST_EXPORT_LIMIT);
        if let Some(logs) = &self.logs {
            logs.end(LAST_EXPORT_LIMIT);
        }
        let Some(provider) = &self.provider else {
            return;
        };
        if let Err(error) = provider.shutdown_with_timeout(LAST_EXPORT_LIMIT) {
            tracing::debug!(%error, "the last metrics are not exported");
        }
    }
}

/// All histograms are durations, with the same buckets. Memory is reserved for all series of an instrument, so most get
/// room for few.
fn stream(instrument: &Instrument) -> Option<Stream> {
    let most = match instrument.name() {
        LABELLED_BY_TASK => MOST_TASKS,
        name if name.contains(".server.") => MOST_CALLS,
        _ => MOST_SERIES,
    };
    let stream = Stream::builder().with_cardinality_limit(most);
    let stream = match instrument.kind() {
        InstrumentKind::Histogram => {
            stream.with_aggregation(Aggregation::ExplicitBucketHistogram {
                boundaries: BOUNDARIES.to_vec(),
                record_min_max: false,
            })
        }
        _ => stream,
    };
    stream.build().ok()
}

fn logs(
    settings: &TelemetrySettings,
    log: &CollectorLog,
) -> Result<Option<LogExport>, TelemetryError> {
    let otlp = settings.otlp.as_ref().filter(|otlp| otlp.logs);
    let export = otlp.map(|otlp| {
        let exporter = exporters::logs(otlp, log)?;
        Ok(LogExport::new(exporter, settings.identity.resource()))
    });
    export.transpose()
}

fn traces(settings: &TelemetrySettings, log: &CollectorLog) -> Result<Traces, TelemetryError> {
    let Some(otlp) = settings.otlp.as_ref().filter(|otlp| otlp.traces) else {
        return Ok(Traces::off());
    };
    Ok(Traces::exporting(
        exporters::spans(otlp, log)?,
        &settings.identity.resource(),
        SamplingRate::percent(settings.traces_kept),
        Arc::clone(&settings.clock),
    ))
}

fn describe_build(meter: &Meter, identity: &Identity) {
    let build = meter
        .u64_gauge("cts.build.info")
        .with_description("Version and commit of cts; the value is always 1.")
        .build();
    let attributes = [
        KeyValue::new("version", identity.version),
        KeyValue::new("commit", identity.commit),
        KeyValue::new("role", identity.role),
    ];
    build.record(1, &attributes);
}

impl Metrics {
    /// The media type of [`Metrics::text`].
    pub const CONTENT_TYPE: &'static str = prometheus::TEXT_FORMAT;

    /// All values in the text format of Prometheus. Runs the callbacks of observed instruments.
    ///
    /// # Errors
    /// If a value cannot be encoded.
    pub fn text(&self) -> Result<String, MetricsError> {
        Ok(TextEncoder::new().encode_to_string(&self.0.gather())?)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
