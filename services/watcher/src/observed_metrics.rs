//! Metrics of a watcher that are read when they are observed (docs/telemetry.md#watcher).

use std::sync::Weak;
use std::time::Duration;

use cts_consul::QueryPoolUsage;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use tokio::time::Instant;

use crate::views::Shared;

/// The views of a watcher at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
struct Census {
    current: u64,
    failing: u64,
    without_data: u64,
    /// Time since the last answer, of the failing view whose last answer is the oldest.
    staleness: Duration,
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
