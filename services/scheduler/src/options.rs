//! Settings and dependencies of a scheduler, and why it cannot begin.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, Clock, CronExpression, TaskSpec};
use cts_rpc::Peers;
use cts_store::{Member, Retention, Store, StoreError, Unchanged};
use cts_telemetry::Signals;

use crate::identities::Identities;
use crate::mode::Mode;
use crate::tasks::modules::Modules;
use crate::tasks::reader::TaskReader;

/// Settings of the scheduler.
#[derive(Debug, Clone)]
pub struct Options {
    /// The reasons for which tasks run.
    pub mode: Mode,
    /// Tasks of the configuration, in order.
    pub tasks: Vec<TaskSpec>,
    /// Life of a run's lease that is not renewed.
    pub lease: Duration,
    /// Whether other processes use the store.
    pub sharing: Sharing,
    /// How this replica registers.
    pub member: Member,
    /// Life of the leadership that is not renewed.
    pub leadership: Duration,
    /// Name of the cluster, if high availability is configured.
    pub cluster_name: Option<String>,
    /// Meaning of the first input of each task, after a start or a takeover, if it is already applied.
    pub first_pass: Unchanged,
    /// How local modules reach workers.
    pub modules: Modules,
    /// Further settings that the members of a cluster should have in common, by name, for people; without
    /// secrets.
    pub settings: BTreeMap<String, String>,
    /// The brake of the fleet, as the files declare it.
    pub fleet_max_shrink: Option<FleetMaxShrink>,
    /// The default rule of approval, as the files declare it.
    pub approvals: ApprovalDefaults,
    /// Retention of ended runs.
    pub retention: Retention,
    /// Space that the logs of all runs may take, in bytes.
    pub logs_kept: u64,
    /// Space that the plans of all runs may take as data, in bytes.
    pub plans_kept: u64,
    /// How long a requested run waits for the data that it needs.
    pub input_timeout: Duration,
    /// Forget all tasks and their history when this replica becomes the leader for the first time, so that only
    /// the tasks of its configuration are left (`-reset-storage`).
    pub reset_storage: bool,
    /// The workers that may take runs.
    pub workers: Workers,
    /// Whether workers get the key of the cluster from the scheduler; otherwise each process reads the key from a file.
    pub hands_out_key: bool,
    /// Whether only workers registered by heartbeats get runs, and calls for a run must prove its lease. Otherwise only
    /// a wrong proof is refused.
    pub requires_proofs: bool,
    /// Storage of the records of calls.
    pub audit: Audit,
}

/// How long records of calls are kept, and their additional destinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Longest time for which records are kept.
    pub kept_for: Duration,
    /// Largest number of records.
    pub kept: u32,
    /// A file that gets each record as a line.
    pub file: Option<PathBuf>,
}

/// The workers that may take runs. Decides how long settings that no worker has any more stay in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// The only worker is in this process: its settings are in force at once, and nothing is queued before the worker
    /// has reported them.
    Own,
    /// Others, one after the other.
    Others,
}

/// Processes that use the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// This process only, so that every lease found at the start is dead.
    Alone,
    /// Other replicas too.
    Shared,
}

impl Options {
    /// The usual settings for these tasks in a process that has its store and modules for itself.
    pub fn alone(tasks: Vec<TaskSpec>, member: Member) -> Self {
        Self {
            mode: Mode::Daemon,
            tasks,
            lease: Duration::from_secs(30),
            sharing: Sharing::Alone,
            member,
            leadership: Duration::from_secs(15),
            cluster_name: None,
            first_pass: Unchanged::AsTaskSays,
            modules: Modules::InPlace,
            settings: BTreeMap::new(),
            fleet_max_shrink: None,
            approvals: ApprovalDefaults::default(),
            retention: Retention::of_any_age(500),
            logs_kept: u64::MAX,
            plans_kept: u64::MAX,
            input_timeout: Duration::from_mins(1),
            reset_storage: false,
            workers: Workers::Others,
            hands_out_key: true,
            audit: Audit {
                kept_for: Duration::MAX,
                kept: u32::MAX,
                file: None,
            },
            requires_proofs: false,
        }
    }
}

/// When a `schedule` condition is due next, by the clocks of the place where the process runs.
#[derive(Clone)]
pub struct NextTick(Arc<TickAfter>);

type TickAfter = dyn Fn(&CronExpression, DateTime<Utc>) -> Option<DateTime<Utc>> + Send + Sync;

impl NextTick {
    /// Ticks by the clocks of `zone`.
    pub fn of<Zone>(zone: Zone) -> Self
    where
        Zone: TimeZone + Send + Sync + 'static,
    {
        Self(Arc::new(move |cron, after| {
            let next = cron.next_after(&after.with_timezone(&zone))?;
            Some(next.to_utc())
        }))
    }

    /// The first tick later than `after`; `None` if no tick follows.
    pub(crate) fn after(
        &self,
        cron: &CronExpression,
        after: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        (self.0)(cron, after)
    }
}

impl fmt::Debug for NextTick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NextTick")
    }
}

/// Dependencies of the scheduler.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// Task, run and event state.
    pub store: Arc<dyn Store>,
    pub watchers: Peers,
    /// Wall-clock time for displayed times.
    pub clock: Arc<dyn Clock>,
    /// When schedules tick.
    pub next_tick: NextTick,
    /// Ids and jitter.
    pub identities: Arc<dyn Identities>,
    /// Makes tasks of callers' declarations.
    pub task_reader: TaskReader,
    /// Records metrics and traces.
    pub signals: Signals,
}

/// The scheduler cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The state at the start could not be read or written.
    #[error("cannot prepare the scheduler's state")]
    Prepare(#[source] StoreError),
    /// Another process has the member id, and lives.
    #[error(
        "another process has the id {id:?} and is alive; give each member an `id` of its own, or stop the other one"
    )]
    IdInUse {
        /// The id of the member.
        id: String,
    },
}
