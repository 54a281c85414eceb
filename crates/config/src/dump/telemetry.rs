//! `telemetry`.

use cts_core::hidden::HIDDEN;

use crate::blocks::telemetry::{OtlpConfig, TelemetryConfig};
use crate::decode::units::duration;
use crate::dump::tree::Body;
use crate::dump::values::path;

pub(super) fn telemetry(telemetry: &TelemetryConfig) -> Body {
    let mut body = Body::default();
    match telemetry.listen {
        Some(address) => body.set("listen", address.to_string()),
        None => body.note("listen: metrics are not served"),
    }
    body.set("task_names", telemetry.task_names);
    body.set("traces_kept", telemetry.traces_kept);
    body.set("terraform", telemetry.terraform);
    match &telemetry.otlp {
        Some(block) => body.block("otlp", otlp(block)),
        None => body.note("otlp: nothing is exported"),
    }
    body
}

fn otlp(otlp: &OtlpConfig) -> Body {
    let mut body = Body::default();
    body.set("endpoint", otlp.endpoint.as_str());
    body.set("signals", otlp.signals.names());
    body.set("interval", duration(otlp.interval));
    if !otlp.headers.is_empty() {
        let mut headers = Body::default();
        for name in otlp.headers.keys() {
            headers.set(name.as_str(), HIDDEN);
        }
        body.block("headers", headers);
    }
    body.set_some("ca_cert", otlp.ca_cert.as_deref().map(path));
    body
}
