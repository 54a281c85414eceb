//! Metrics of the REST API (docs/telemetry.md#calls).

use std::fmt;
use std::time::Duration;

use http::{Method, StatusCode};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

/// The label of methods that HTTP does not define.
const OTHER_METHODS: &str = "_OTHER";

/// Answers to requests that are refused, and their reasons.
const REFUSALS: [(StatusCode, &str); 3] = [
    (StatusCode::UNAUTHORIZED, "unauthenticated"),
    (StatusCode::FORBIDDEN, "permission_denied"),
    (StatusCode::TOO_MANY_REQUESTS, "crowded"),
];

/// The instruments.
pub(crate) struct Metrics {
    duration: Histogram<f64>,
    refused: Counter<u64>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = meter
            .f64_histogram("http.server.request.duration")
            .with_unit("s")
            .with_description("Time from a request of the REST API to the beginning of its answer.")
            .build();
        let refused = meter
            .u64_counter("cts.calls.refused")
            .with_description("Calls and requests that were refused for want of a right.")
            .build();
        for (_status, reason) in REFUSALS {
            refused.add(0, &refusal(reason));
        }
        Self { duration, refused }
    }

    /// Records a request whose answer begins.
    pub(crate) fn answered(
        &self,
        method: &Method,
        route: &'static str,
        status: StatusCode,
        took: Duration,
    ) {
        let labels = [
            KeyValue::new("http.request.method", known(method)),
            KeyValue::new("http.route", route),
            KeyValue::new("http.response.status_code", i64::from(status.as_u16())),
        ];
        self.duration.record(took.as_secs_f64(), &labels);
        if let Some((_status, reason)) = REFUSALS.iter().find(|(refused, _)| *refused == status) {
            self.refused.add(1, &refusal(reason));
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn refusal(reason: &'static str) -> [KeyValue; 2] {
    [
        KeyValue::new("interface", "rest"),
        KeyValue::new("reason", reason),
    ]
}

fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHODS,
    }
}
