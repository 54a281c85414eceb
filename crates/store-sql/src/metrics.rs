//! Metrics of a database, by the semantic conventions (docs/telemetry.md#database).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::KeyValue;
use opentelemetry::metrics::noop::NoopMeterProvider;
use opentelemetry::metrics::{Histogram, Meter, MeterProvider as _};
use tokio::time::Instant;

use crate::database::{Connections, Database, Intent};

/// Duration of a call, including the wait for its connection.
const DURATION: &str = "db.client.operation.duration";

/// Open connections, by their state.
const OPEN: &str = "db.client.connection.count";

/// Maximum number of connections.
const MOST: &str = "db.client.connection.max";

/// Calls that wait for a connection.
const WAITING: &str = "db.client.connection.pending_requests";

/// Measures the calls of a store. Cheap to clone; clones share the instruments.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Shared>);

struct Shared {
    duration: Histogram<f64>,
    kinds: [[KeyValue; 2]; 3],
    running: AtomicU64,
}

/// A call in progress, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Call<'c> {
    calls: &'c Calls,
    kind: Intent,
    begun: Instant,
}

impl Calls {
    /// Measures nothing.
    pub(crate) fn unmeasured() -> Self {
        Self::new(&NoopMeterProvider::new().meter(""), "")
    }

    /// Measures the calls to `database`.
    pub(crate) fn of(meter: &Meter, database: &impl Database) -> Self {
        let calls = Self::new(meter, database.system());
        calls.observe_connections(meter, database);
        calls
    }

    fn new(meter: &Meter, system: &'static str) -> Self {
        let duration = meter
            .f64_histogram(DURATION)
            .with_unit("s")
            .with_description("Duration of calls to the database, with the wait for a connection.")
            .build();
        let kinds = ["read", "write", "transaction"].map(|kind| {
            [
                KeyValue::new("db.system.name", system),
                KeyValue::new("db.operation.name", kind),
            ]
        });
        Self(Arc::new(Shared {
            duration,
            kinds,
            running: AtomicU64::new(0),
        }))
    }

    fn observe_connections(&self, meter: &Meter, database: &impl Database) {
        let pool = KeyValue::new("db.client.connection.pool.name", database.system());
        let state = |name: &'static str| {
            [
                pool.clone(),
                KeyValue::new("db.client.connection.state", name),
            ]
        };
        let (idle, used, of) = (state("idle"), state("used"), database.clone());
        meter
            .u64_observable_gauge(OPEN)
            .with_unit("{connection}")
            .with_description("Open connections to the database, by their state.")
            .with_callback(move |observer| {
                let connections = of.connections();
                observer.observe(connections.idle, &idle);
                observer.observe(connections.used(), &used);
            })
            .build();
        let (labels, of) = ([pool.clone()], database.clone());
        meter
            .u64_observable_gauge(MOST)
            .with_unit("{connection}")
            .with_description("The most connections to the database.")
            .with_callback(move |observer| observer.observe(of.connections().most, &labels))
            .build();
        let (labels, of, calls) = ([pool], database.clone(), self.clone());
        meter
            .u64_observable_gauge(WAITING)
            .with_unit("{request}")
            .with_description("Calls that wait for a connection to the database.")
            .with_callback(move |observer| {
                let running = calls.0.running.load(Ordering::Relaxed);
                observer.observe(running.saturating_sub(of.connections().used()), &labels);
            })
            .build();
    }

    /// Measures a call until the result is dropped.
    pub(crate) fn begin(&self, kind: Intent) -> Call<'_> {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        Call {
            calls: self,
            kind,
            begun: Instant::now(),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let shared = &self.calls.0;
        shared.running.fetch_sub(1, Ordering::Relaxed);
        let kind = match self.kind {
            Intent::Read => 0,
            Intent::Statement => 1,
            Intent::Transaction => 2,
        };
        let took = self.begun.elapsed().as_secs_f64();
        shared.duration.record(took, &shared.kinds[kind]);
    }
}

impl Connections {
    /// Number of connections in use by calls.
    pub const fn used(&self) -> u64 {
        self.open.saturating_sub(self.idle)
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}
