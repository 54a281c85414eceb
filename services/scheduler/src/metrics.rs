//! Metrics of a scheduler (docs/telemetry.md#scheduler). Only the leader exports the metrics of the cluster.

pub(crate) mod change_times;
pub(crate) mod cluster_numbers;

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, mem};

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Chain, Incarnation, LeaderEpoch, RunId, TaskStatus, spelled};
use cts_store::Store;
use cts_telemetry::{Signals, TaskNames};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::metrics::change_times::{ChangeTimes, Passed};
use crate::metrics::cluster_numbers::ClusterNumbers;

const ENDS: [RunStatus; 3] = [
    RunStatus::Succeeded,
    RunStatus::Failed,
    RunStatus::Cancelled,
];

/// Pause between two counts of applied changes.
const COUNT_EVERY: Duration = Duration::from_secs(10);

spelled! {
    /// Why an input needs no run of its own.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Skipped {
        /// The input is applied, or a run applies it.
        Unchanged = "unchanged",
        /// The queued run has the input.
        Queued = "queued",
        /// The shrink limit blocks the input.
        Blocked = "blocked",
        /// Its run was cancelled.
        Withheld = "withheld",
    }
}

/// The instruments of a scheduler, and the states that they show.
pub(crate) struct Metrics {
    /// The names of tasks that are labels.
    pub(crate) task_names: TaskNames,
    /// The changes that are not applied yet.
    pub(crate) changes: ChangeTimes,
    /// Runs that have succeeded by a report to this scheduler, and are not among the times of changes yet.
    pub(crate) applied: Mutex<Vec<RunId>>,
    phase: Histogram<f64>,
    whole: Histogram<f64>,
    ended: Counter<u64>,
    skipped: Counter<u64>,
    late: Counter<u64>,
    expired: Counter<u64>,
    shown: Arc<Shown>,
}

/// States that are shown when they are observed.
#[derive(Debug, Default)]
struct Shown {
    leadership: Mutex<Leadership>,
    cluster: Mutex<Option<ClusterNumbers>>,
    logs: Mutex<Option<(u64, u64)>>,
    plans: Mutex<Option<(u64, u64)>>,
    observed: Notify,
}

/// A space of the database with a limit of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Space {
    /// The logs of all runs.
    Logs,
    /// The plans of all runs as data.
    Plans,
}

impl Space {
    /// Its used and allowed bytes, once they are measured.
    const fn of(self, shown: &Shown) -> &Mutex<Option<(u64, u64)>> {
        match self {
            Self::Logs => &shown.logs,
            Self::Plans => &shown.plans,
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Leadership {
    leads: bool,
    term: u64,
    renewed: Option<Instant>,
}

impl Metrics {
    pub(crate) fn new(signals: &Signals) -> Self {
        let meter = &signals.meter;
        let ended = meter
            .u64_counter("cts.runs.ended")
            .with_description("Runs that have ended, by kind and outcome.")
            .build();
        for kind in RunKind::ALL {
            for status in ENDS {
                ended.add(0, &end(kind, status));
            }
        }
        let skipped = meter
            .u64_counter("cts.runs.skipped")
            .with_description("Inputs of due tasks that need no run of their own, by the reason.")
            .build();
        for reason in Skipped::ALL {
            skipped.add(0, &[KeyValue::new("reason", reason.as_str())]);
        }
        let late = meter
            .u64_counter("cts.inputs.late")
            .with_description(
                "Inputs that were frozen before a view was read since their trigger, because the read took too long.",
            )
            .build();
        late.add(0, &[]);
        let expired = meter
            .u64_counter("cts.leases.expired")
            .with_description(
                "Leases of runs that were taken back, because their worker fell silent.",
            )
            .build();
        expired.add(0, &[]);
        let shown = Arc::<Shown>::default();
        observe_leadership(meter, &shown);
        observe_cluster(meter, &shown);
        observe_space(meter, &shown);
        Self {
            task_names: signals.task_names.clone(),
            changes: ChangeTimes::default(),
            applied: Mutex::default(),
            phase: seconds(
                meter,
                "cts.change.phase.duration",
                "Time that a change spends in one phase of its way.",
            ),
            whole: seconds(
                meter,
                "cts.change.duration",
                "Time from the arrival of a change at the leader until its run has succeeded.",
            ),
            ended,
            skipped,
            late,
            expired,
            shown,
        }
    }

    /// A run has this status now.
    pub(crate) fn run_changed(&self, kind: RunKind, status: RunStatus) {
        if status.is_end() {
            self.ended.add(1, &end(kind, status));
        }
    }

    /// An input needs no run of its own.
    pub(crate) fn skipped(&self, reason: Skipped) {
        let reason = KeyValue::new("reason", reason.as_str());
        self.skipped.add(1, &[reason]);
    }

    /// An input was frozen before a view was read.
    pub(crate) fn input_is_late(&self) {
        self.late.add(1, &[]);
    }

    /// A lease was taken back.
    pub(crate) fn lease_expired(&self) {
        self.expired.add(1, &[]);
    }

    /// A change has passed a part of its way.
    pub(crate) fn passed(&self, passed: Option<Passed>) {
        let (name, took) = match passed {
            None => return,
            Some(Passed::Whole(took)) => return self.whole.record(took.as_secs_f64(), &[]),
            Some(Passed::Buffer(took)) => ("buffer", took),
            Some(Passed::Queue(took)) => ("queue", took),
        };
        let phase = KeyValue::new("phase", name);
        self.phase.record(took.as_secs_f64(), &[phase]);
    }

    /// Counts the changes of the runs that have succeeded, again and again. A crash loses at most those of one pause.
    pub(crate) async fn count_loop(&self, store: &dyn Store, scheduler: Incarnation) {
        loop {
            sleep(COUNT_EVERY).await;
            self.count_applied(store, scheduler).await;
        }
    }

    /// Counts the changes of the runs that have succeeded, after a failure together with later ones.
    pub(crate) async fn count_applied(&self, store: &dyn Store, scheduler: Incarnation) {
        let runs = mem::take(&mut *self.applied.lock());
        if !runs.is_empty()
            && let Err(error) = store.count_applied(scheduler, &runs).await
        {
            tracing::debug!(error = %Chain(&error), "the times of changes cannot be counted");
            self.applied.lock().extend(runs);
        }
    }

    /// This replica has renewed its leadership at this moment.
    pub(crate) fn leads(&self, term: LeaderEpoch, renewed: Instant) {
        *self.shown.leadership.lock() = Leadership {
            leads: true,
            term: term.get(),
            renewed: Some(renewed),
        };
    }

    /// Another replica leads, or none; `term` is the newest known term.
    pub(crate) fn follows(&self, term: Option<LeaderEpoch>) {
        let mut leadership = self.shown.leadership.lock();
        leadership.leads = false;
        leadership.term = term.map_or(leadership.term, LeaderEpoch::get);
    }

    /// The used and the allowed bytes of a space.
    pub(crate) fn measured(&self, space: Space, used: u64, limit: u64) {
        *space.of(&self.shown).lock() = Some((used, limit));
    }

    /// Shows the numbers of the cluster.
    pub(crate) fn show(&self, numbers: ClusterNumbers) {
        *self.shown.cluster.lock() = Some(numbers);
    }

    /// Ends with the leadership of this replica: then others show the cluster.
    pub(crate) fn showing(&self) -> Showing<'_> {
        Showing(self)
    }

    /// Waits until the numbers of the cluster have been observed. Cancel safe.
    pub(crate) async fn observed(&self) {
        self.shown.observed.notified().await;
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The time in which this replica shows the cluster.
#[derive(Debug)]
pub(crate) struct Showing<'m>(&'m Metrics);

impl Drop for Showing<'_> {
    fn drop(&mut self) {
        self.0.changes.forget();
        *self.0.shown.cluster.lock() = None;
    }
}

fn end(kind: RunKind, status: RunStatus) -> [KeyValue; 2] {
    [
        KeyValue::new("kind", kind.as_str()),
        KeyValue::new("outcome", status.as_str()),
    ]
}

fn seconds(meter: &Meter, name: &'static str, description: &'static str) -> Histogram<f64> {
    meter
        .f64_histogram(name)
        .with_unit("s")
        .with_description(description)
        .build()
}

fn observe_leadership(meter: &Meter, shown: &Arc<Shown>) {
    let of = Arc::clone(shown);
    meter
        .u64_observable_gauge("cts.leader")
        .with_description("1 if this scheduler leads, else 0.")
        .with_callback(move |observer| {
            observer.observe(of.leadership.lock().leads.into(), &[]);
        })
        .build();
    let of = Arc::clone(shown);
    meter
        .u64_observable_gauge("cts.leader.term")
        .with_description("The newest term of a leader that this scheduler knows.")
        .with_callback(move |observer| observer.observe(of.leadership.lock().term, &[]))
        .build();
    let of = Arc::clone(shown);
    meter
        .f64_observable_gauge("cts.leader.renewal.age")
        .with_unit("s")
        .with_description("Time since this scheduler last renewed its leadership, while it leads.")
        .with_callback(move |observer| {
            let leadership = *of.leadership.lock();
            if let Some(renewed) = leadership.renewed.filter(|_| leadership.leads) {
                observer.observe(renewed.elapsed().as_secs_f64(), &[]);
            }
        })
        .build();
}

/// A gauge of the cluster: name, unit, description and value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&ClusterNumbers) -> u64,
);

const GAUGES: [Gauge; 14] = [
    (
        "cts.queue.runs",
        "",
        "Queued runs, due or not, without those that wait for consent.",
        |now| now.queue.queued,
    ),
    (
        "cts.queue.awaiting",
        "",
        "Queued runs that wait for the consent of a person.",
        |now| now.queue.awaiting,
    ),
    (
        "cts.queue.ready",
        "",
        "Queued runs that a worker could take now.",
        |now| now.queue.ready,
    ),
    ("cts.queue.running", "", "Runs that workers have.", |now| {
        now.queue.running
    }),
    (
        "cts.queue.unschedulable",
        "",
        "Due runs that no worker can take, and not only because all are busy.",
        |now| now.unschedulable,
    ),
    (
        "cts.slots",
        "{slot}",
        "Slots of the workers that take runs.",
        |now| now.slots,
    ),
    (
        "cts.slots.busy",
        "{slot}",
        "Slots of these workers that have a run.",
        |now| now.busy,
    ),
    (
        "cts.tasks.blocked",
        "",
        "Tasks whose newest input is blocked by their shrink limit.",
        |now| now.blocked,
    ),
    (
        "cts.brake.set",
        "",
        "1 while the brake of the fleet is set, else 0.",
        |now| now.brake.is_set().into(),
    ),
    (
        "cts.brake.lost",
        "{instance}",
        "Instances that the fleet has lost, against the reference of the brake.",
        |now| now.brake.lost,
    ),
    (
        "cts.brake.of",
        "{instance}",
        "Instances of the fleet in the reference of the brake; 0 while it is off.",
        |now| now.brake.of,
    ),
    (
        "cts.approvals.waiting",
        "",
        "Effects of plans that wait for the consent of a person.",
        |now| now.approvals,
    ),
    (
        "cts.approvals.oldest",
        "s",
        "How long the oldest of these effects has waited; 0 without one.",
        |now| now.oldest_approval,
    ),
    (
        "cts.queue.oldest.age",
        "s",
        "How long the oldest run that a worker could take has been due; 0 without one.",
        |now| now.queue.oldest_ready.unwrap_or_default().as_secs(),
    ),
];

fn observe_cluster(meter: &Meter, shown: &Arc<Shown>) {
    for (name, unit, description, value) in GAUGES {
        let of = Arc::clone(shown);
        meter
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                of.observed.notify_one();
                if let Some(cluster) = &*of.cluster.lock() {
                    observer.observe(value(cluster), &[]);
                }
            })
            .build();
    }
    let of = Arc::clone(shown);
    meter
        .u64_observable_gauge("cts.workers")
        .with_description("Registered workers, by their state.")
        .with_callback(move |observer| {
            let cluster = of.cluster.lock();
            for (state, count) in cluster.iter().flat_map(|cluster| cluster.workers) {
                observer.observe(count, &[KeyValue::new("state", state)]);
            }
        })
        .build();
    let of = Arc::clone(shown);
    meter
        .u64_observable_gauge("cts.tasks")
        .with_description("Tasks, by their status.")
        .with_callback(move |observer| {
            let cluster = of.cluster.lock();
            for cluster in cluster.iter() {
                for (status, count) in TaskStatus::ALL.iter().zip(cluster.statuses) {
                    observer.observe(count, &[KeyValue::new("status", status.as_str())]);
                }
            }
        })
        .build();
    let of = Arc::clone(shown);
    meter
        .u64_observable_gauge("cts.task.failures")
        .with_description("Failures in a row of a task, up to 5; the most of them for `other`.")
        .with_callback(move |observer| {
            let cluster = of.cluster.lock();
            for (task, count) in cluster.iter().flat_map(|cluster| &cluster.failures) {
                observer.observe(*count, &[KeyValue::new("task", Arc::clone(task))]);
            }
        })
        .build();
}

/// A gauge of a space: name, description and value, of the used and the allowed bytes.
type SpaceGauge = (&'static str, &'static str, Space, fn((u64, u64)) -> u64);

fn observe_space(meter: &Meter, shown: &Arc<Shown>) {
    let gauges: [SpaceGauge; 4] = [
        (
            "cts.logs.size",
            "Space of the logs of all runs, as measured last.",
            Space::Logs,
            |(used, _limit)| used,
        ),
        (
            "cts.logs.limit",
            "Space that the logs of all runs may take.",
            Space::Logs,
            |(_used, limit)| limit,
        ),
        (
            "cts.plans.size",
            "Space of the plans of all runs as data, as measured last.",
            Space::Plans,
            |(used, _limit)| used,
        ),
        (
            "cts.plans.limit",
            "Space that the plans of all runs may take as data.",
            Space::Plans,
            |(_used, limit)| limit,
        ),
    ];
    for (name, description, space, value) in gauges {
        let of = Arc::clone(shown);
        meter
            .u64_observable_gauge(name)
            .with_unit("By")
            .with_description(description)
            .with_callback(move |observer| {
                let leads = of.leadership.lock().leads;
                if let Some(measured) = space.of(&of).lock().filter(|_| leads) {
                    observer.observe(value(measured), &[]);
                }
            })
            .build();
    }
}
