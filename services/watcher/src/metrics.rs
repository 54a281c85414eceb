//! Metrics of a watcher (docs/telemetry.md#watcher).

use std::fmt;
use std::sync::Weak;
use std::time::Duration;

use cts_consul::{ConsulError, PollEvent, QueryPoolUsage};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use tokio::time::Instant;

use crate::views::Shared;

/// The reasons for which views cannot be read.
const REASONS: [&str; 3] = ["unreachable", "refused", "unusable"];

/// The instruments that events change.
pub(crate) struct Metrics {
    failures: Counter<u64>,
    sent: Histogram<f64>,
}

/// The views of a watcher at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
struct Census {
    current: u64,
    failing: u64,
    without_data: u64,
    /// Since the last answer to the view that has had none for longest, among failing ones.
    staleness: Duration,
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

/// A gauge of the queries to Consul: name, unit, description and value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(QueryPoolUsage) -> usize,
);

/// Declares the metrics that are read from the views when they are observed.
pub(crate) fn observe(meter: &Meter, views: &Weak<Shared>) {
    let of = Weak::clone(views);
    meter
        .u64_observable_gauge("cts.views")
        .with_description("Views that are followed, by their state.")
        .with_callback(move |observer| {
            let Some(views) = of.upgrade() else { return };
            let census = census(&views, Instant::now());
            for (state, count) in [
                ("current", census.current),
                ("failing", census.failing),
                ("without_data", census.without_data),
            ] {
                observer.observe(count, &[KeyValue::new("state", state)]);
            }
        })
        .build();
    let of = Weak::clone(views);
    meter
        .f64_observable_gauge("cts.views.staleness")
        .with_unit("s")
        .with_description(
            "Time since Consul answered the failing view that has waited longest; 0 if none fails.",
        )
        .with_callback(move |observer| {
            let Some(views) = of.upgrade() else { return };
            let census = census(&views, Instant::now());
            observer.observe(census.staleness.as_secs_f64(), &[]);
        })
        .build();
    let gauges: [Gauge; 3] = [
        (
            "cts.consul.queries.held",
            "{query}",
            "Queries that Consul may hold open, each in a connection of its own over HTTP/1.1.",
            |usage| usage.held,
        ),
        (
            "cts.consul.queries.limit",
            "{query}",
            "The most queries that Consul may hold open.",
            |usage| usage.slots,
        ),
        (
            "cts.consul.connections.limit",
            "{connection}",
            "The most connections to Consul.",
            |usage| usage.connections,
        ),
    ];
    for (name, unit, description, value) in gauges {
        let of = Weak::clone(views);
        meter
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                let Some(views) = of.upgrade() else { return };
                let value = value(views.pool.usage());
                observer.observe(u64::try_from(value).unwrap_or(u64::MAX), &[]);
            })
            .build();
    }
}

fn census(views: &Shared, now: Instant) -> Census {
    let mut census = Census::default();
    for view in views.followed() {
        let state = view.now();
        match &state.failure {
            Some(failure) => {
                let since = state.answered.unwrap_or(failure.since);
                census.failing += 1;
                census.staleness = census.staleness.max(now.saturating_duration_since(since));
            }
            None if state.snapshot.is_none() => census.without_data += 1,
            None => census.current += 1,
        }
    }
    census
}
