//! Metrics of a worker (docs/telemetry.md#worker).

use std::fmt;
use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use cts_core::runs::{PhaseTimes, RunKind};
use nix::sys::statvfs::statvfs;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use crate::lease::leased_run::renewal::LeaseEnd;
use crate::shared::Shared;

/// How attempts end; the words of the journal.
const OUTCOMES: [&str; 6] = [
    "applied",
    "planned",
    "checked",
    "destroyed",
    "failed",
    "interrupted",
];

/// How leases are lost.
const LOSSES: [LeaseEnd; 3] = [LeaseEnd::Refused, LeaseEnd::Unanswered, LeaseEnd::Stalled];

/// The instruments that events change.
pub(crate) struct Metrics {
    attempts: Counter<u64>,
    lost: Counter<u64>,
    phase: Histogram<f64>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let attempts = meter
            .u64_counter("cts.worker.attempts")
            .with_description("Attempts of this worker at runs, by kind and outcome.")
            .build();
        for kind in RunKind::ALL {
            for outcome in OUTCOMES {
                attempts.add(0, &attempt(kind.as_str(), outcome));
            }
        }
        let lost = meter
            .u64_counter("cts.worker.leases.lost")
            .with_description("Leases that this worker lost, by the reason.")
            .build();
        for end in LOSSES {
            lost.add(0, &[KeyValue::new("reason", loss(end))]);
        }
        let phase = meter
            .f64_histogram("cts.change.phase.duration")
            .with_unit("s")
            .with_description("Time that a change spends in one phase of its way.")
            .build();
        Self {
            attempts,
            lost,
            phase,
        }
    }

    /// An attempt has ended; `kind` is missing if this version does not know it.
    pub(crate) fn ended(&self, kind: Option<RunKind>, outcome: &'static str) {
        let kind = kind.map_or("unknown", RunKind::as_str);
        self.attempts.add(1, &attempt(kind, outcome));
    }

    /// A lease was lost.
    pub(crate) fn lost(&self, end: LeaseEnd) {
        self.lost.add(1, &[KeyValue::new("reason", loss(end))]);
    }

    /// The steps of an attempt to apply a change.
    pub(crate) fn phases(&self, times: &PhaseTimes) {
        for (phase, took) in [
            ("render", times.render),
            ("init", times.init),
            ("validate", times.validate),
            ("plan", times.plan),
            ("apply", times.apply),
        ] {
            if let Some(took) = took {
                self.phase(phase, took);
            }
        }
    }

    /// The handlers of an applied change have ended.
    pub(crate) fn handled(&self, took: Duration) {
        self.phase("handlers", took);
    }

    fn phase(&self, phase: &'static str, took: Duration) {
        let phase = KeyValue::new("phase", phase);
        self.phase.record(took.as_secs_f64(), &[phase]);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn attempt(kind: &'static str, outcome: &'static str) -> [KeyValue; 2] {
    [
        KeyValue::new("kind", kind),
        KeyValue::new("outcome", outcome),
    ]
}

const fn loss(end: LeaseEnd) -> &'static str {
    match end {
        LeaseEnd::Refused => "refused",
        LeaseEnd::Unanswered => "unanswered",
        LeaseEnd::Stalled => "stalled",
    }
}

/// A gauge: name, unit, description and value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Shared) -> Option<u64>,
);

/// Declares the metrics that are read from the worker when they are observed.
pub(crate) fn observe(meter: &Meter, shared: &Weak<Shared>) {
    let gauges: [Gauge; 4] = [
        (
            "cts.worker.slots",
            "{slot}",
            "Slots of this worker.",
            |shared| Some(shared.options.record.slots.into()),
        ),
        (
            "cts.worker.slots.busy",
            "{slot}",
            "Slots of this worker that have a run.",
            |shared| Some(shared.slots.busy()),
        ),
        (
            "cts.worker.healthy",
            "{worker}",
            "1 while the own check of this worker succeeds, else 0: then the worker takes no new runs.",
            |shared| Some((!shared.health.has_problem()).into()),
        ),
        (
            "cts.worker.working_directory.free",
            "By",
            "Free space where this worker has its task directories.",
            |shared| free_space(&shared.options.working_dir),
        ),
    ];
    for (name, unit, description, value) in gauges {
        let of = Weak::clone(shared);
        meter
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                if let Some(value) = of.upgrade().and_then(|shared| value(&shared)) {
                    observer.observe(value, &[]);
                }
            })
            .build();
    }
}

/// Bytes that an unprivileged process may still write; `None` if the directory does not exist.
fn free_space(directory: &Path) -> Option<u64> {
    let space = statvfs(directory).ok()?;
    Some(
        space
            .blocks_available()
            .saturating_mul(space.fragment_size()),
    )
}
