//! Exporters over OTLP (docs/telemetry.md#otlp).

use std::fs;
use std::time::Duration;

use opentelemetry_otlp::{
    LogExporter, MetricExporter, SpanExporter, WithExportConfig, WithTonicConfig,
};
use opentelemetry_sdk::metrics::PeriodicReader;
use secrecy::ExposeSecret as _;
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig};

use crate::collector_log::{CollectorLog, Logged};
use crate::error::TelemetryError;
use crate::settings::OtlpSettings;

/// Longest time for one export.
const EXPORT_LIMIT: Duration = Duration::from_secs(10);

/// Exports all instruments each `interval`. Must be called inside a runtime.
pub(crate) fn metrics(
    settings: &OtlpSettings,
    log: &CollectorLog,
) -> Result<PeriodicReader<Logged<MetricExporter>>, TelemetryError> {
    let exporter = configured(MetricExporter::builder().with_tonic(), settings)?.build()?;
    let reader = PeriodicReader::builder(log.of(exporter)).with_interval(settings.interval);
    Ok(reader.build())
}

/// Exports log lines. Must be called inside a runtime.
pub(crate) fn logs(
    settings: &OtlpSettings,
    log: &CollectorLog,
) -> Result<Logged<LogExporter>, TelemetryError> {
    let exporter = configured(LogExporter::builder().with_tonic(), settings)?;
    Ok(log.of(exporter.build()?))
}

/// Exports spans. Must be called inside a runtime.
pub(crate) fn spans(
    settings: &OtlpSettings,
    log: &CollectorLog,
) -> Result<Logged<SpanExporter>, TelemetryError> {
    let exporter = configured(SpanExporter::builder().with_tonic(), settings)?;
    Ok(log.of(exporter.build()?))
}

fn configured<B>(builder: B, settings: &OtlpSettings) -> Result<B, TelemetryError>
where
    B: WithExportConfig + WithTonicConfig,
{
    let builder = builder
        .with_endpoint(settings.endpoint.as_str())
        .with_timeout(EXPORT_LIMIT)
        .with_metadata(headers(settings)?);
    if !settings.endpoint.starts_with("https:") {
        return Ok(builder);
    }
    let tls = ClientTlsConfig::new();
    let tls = match &settings.ca_cert {
        None => tls.with_enabled_roots(),
        Some(path) => {
            let authorities = fs::read(path).map_err(|source| TelemetryError::Authorities {
                path: path.clone(),
                source,
            })?;
            tls.ca_certificate(Certificate::from_pem(authorities))
        }
    };
    Ok(builder.with_tls_config(tls))
}

fn headers(settings: &OtlpSettings) -> Result<MetadataMap, TelemetryError> {
    let mut headers = MetadataMap::new();
    for (name, value) in &settings.headers {
        let unusable = |_error| TelemetryError::Header(name.clone());
        let key = MetadataKey::from_bytes(name.as_bytes()).map_err(|_error| unusable(()))?;
        let mut value =
            MetadataValue::try_from(value.expose_secret()).map_err(|_error| unusable(()))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}
