//! Metrics of a watcher (docs/telemetry.md#watcher).

use std::fmt;

use cts_consul::{ConsulError, PollEvent};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use tokio::time::Instant;

/// The reasons for which views cannot be read.
const REASONS: [&str; 3] = ["unreachable", "refused", "unusable"];

/// The instruments that events change.
pub(crate) struct Metrics {
    failures: Counter<u64>,
    sent: Histogram<f64>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let failures = meter
            .u64_counter("cts.views.failures")
            .with_description("Failed queries to Consul, by the reason.")
            .build();
        for reason in REASONS {
            failures.add(0, &[KeyValue::new("reason", reason)]);
        }
        let sent = meter
            .f64_histogram("cts.change.phase.duration")
            .with_unit("s")
            .with_description("Time that a change spends in one phase of its way.")
            .build();
        Self { failures, sent }
    }

    /// An event of a view's poller.
    pub(crate) fn polled(&self, event: &PollEvent) {
        if let PollEvent::Failure { error, .. } = event {
            let reason = KeyValue::new("reason", reason(error));
            self.failures.add(1, &[reason]);
        }
    }

    /// A subscriber gets a change that Consul answered at this moment.
    pub(crate) fn sent(&self, answered: Instant, now: Instant) {
        let took = now.saturating_duration_since(answered);
        let phase = KeyValue::new("phase", "watch");
        self.sent.record(took.as_secs_f64(), &[phase]);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn reason(error: &ConsulError) -> &'static str {
    if error.is_refusal() {
        "refused"
    } else if error.is_outage() {
        "unreachable"
    } else {
        "unusable"
    }
}
