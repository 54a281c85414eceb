//! Metrics of a worker (docs/telemetry.md#worker).

use std::fmt;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_proto::run::v1::PhaseTimes;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use crate::lease::LeaseEnd;

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

    pub(crate) fn lost(&self, end: LeaseEnd) {
        self.lost.add(1, &[KeyValue::new("reason", loss(end))]);
    }

    /// The steps of an attempt to apply a change.
    pub(crate) fn phases(&self, times: &PhaseTimes) {
        for (phase, took) in times.steps() {
            self.phase(phase, took);
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
