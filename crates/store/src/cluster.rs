//! Values about the processes that share a store: scheduler replicas and workers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{RunKind, RunStatus};
use cts_core::{
    Candidate, Incarnation, LeaderEpoch, Requirement, RunId, TaskName, WorkerId, WorkerRecord,
};
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

/// A scheduler replica as it registers (docs/rest.md#cluster-status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Instance id, unique among the live replicas.
    pub id: String,
    /// Incarnation of the process that uses the id.
    pub incarnation: Incarnation,
    /// Name of its registration with Consul.
    pub service_name: String,
    /// Address that the replica advertises to the other replicas, if any.
    pub address: Option<String>,
}

/// State of the leadership after [`Store::lead`](crate::Store::lead).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leadership {
    /// Increases by one with every grant except an extension.
    pub epoch: LeaderEpoch,
    /// Whether the caller leads.
    pub mine: bool,
    /// Id of the leader.
    pub leader: String,
    /// Time until the leader's lease expires unless it is renewed; at least zero.
    pub expires_in: Duration,
    /// Whether the caller leads, and no other process has led since the leadership was last granted to this
    /// incarnation. False for its first grant.
    pub resumed: bool,
    /// Time since another incarnation with the caller's id was seen, if that is within the time to live. The caller
    /// is then not noted as a member, and leads only if it led already.
    pub id_in_use: Option<Duration>,
}

/// A replica as the other replicas see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberState {
    /// Its registration.
    pub member: Member,
    /// Time since its last heartbeat.
    pub silent_for: Duration,
    /// Whether it leads, with a lease that has not expired.
    pub leader: bool,
}

/// A worker as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerState {
    /// Its registration. `draining` is also true if draining was requested and is not confirmed yet.
    pub worker: WorkerRecord,
    /// Time of its first heartbeat.
    pub since: DateTime<Utc>,
    /// Time since its last heartbeat.
    pub silent_for: Duration,
    /// Whether a later life of the worker has replaced this life. [`shown`](Self::shown) leaves it out; nothing else
    /// depends on this.
    pub replaced: bool,
    /// Runs leased to it now.
    pub running: u32,
    /// Numbers of the [settings](cts_core::settings::SettingsGeneration) in force that it has, sorted.
    pub settings: Vec<u64>,
}

/// The answer of a store to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// The worker is noted.
    Noted {
        /// The worker is asked to drain.
        drains: bool,
    },
    /// The id belongs to a process with a different registration; nothing is noted.
    Foreign,
}

/// Silence after which a worker counts as lost. Its leases expire independently of this.
pub const LOST_AFTER: Duration = Duration::from_secs(15);

impl WorkerState {
    /// The workers that answers, metrics and slots count: all but replaced lives.
    pub fn shown(workers: &[Self]) -> impl Iterator<Item = &Self> {
        workers.iter().filter(|worker| !worker.replaced)
    }

    /// Whether the worker lives and accepts new runs.
    pub fn takes_runs(&self) -> bool {
        self.silent_for < LOST_AFTER && !self.worker.draining && self.worker.unable().is_none()
    }

    /// The worker, reduced to the properties that decide whether it takes a run with these settings.
    pub fn candidate(&self, settings: Option<u64>) -> Candidate<'_> {
        // A worker that does not report its settings accepts any run.
        let checks = self.worker.settings.is_some();
        Candidate {
            capabilities: &self.worker.capabilities,
            lost: self.silent_for >= LOST_AFTER,
            draining: self.worker.draining,
            unable: self.worker.unable(),
            has_settings: settings.is_none_or(|number| !checks || self.settings.contains(&number)),
            slots: self.worker.slots,
            running: self.running,
        }
    }
}

/// Amount of waiting work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueDepth {
    /// Queued runs of enabled tasks, and queued plans, checks and requested runs of any task, due or not, without
    /// `awaiting`.
    pub queued: u64,
    /// Queued runs that wait for the consent of a person.
    pub awaiting: u64,
    /// Queued runs that a worker could lease now: due, and without a running run of their task.
    pub ready: u64,
    /// Running runs.
    pub running: u64,
    /// Time for which the oldest ready run has been due.
    pub oldest_ready: Option<Duration>,
}

/// Runs that a worker could have leased for some time, grouped by requirement and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRuns {
    /// Requirement of these runs.
    pub requirement: Requirement,
    /// The settings that their worker must have.
    pub settings: Option<u64>,
    /// Number of these runs.
    pub runs: u64,
    /// Number of these runs that are checks requested by a leader instead of a caller.
    pub own_checks: u64,
    /// Time for which the oldest of these runs has been due.
    pub oldest: Duration,
    /// The task of the oldest run.
    pub task: TaskName,
}

/// Notifies other processes on the same store of a change. Hints may be lost, so a receiver reads the store and never
/// relies on the hint alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// A run may be ready to lease, or a due time has changed.
    Queue,
    /// A run has a new status.
    Run {
        /// The run.
        run: RunId,
        /// The task.
        task: TaskName,
        /// Kind of the run.
        #[serde(default)]
        kind: RunKind,
        /// Its status.
        status: RunStatus,
        /// Time of the change, by the clock of the sender.
        at: DateTime<Utc>,
    },
    /// A worker drains or was asked to drain.
    Drains {
        /// The worker.
        worker: WorkerId,
    },
    /// A task was created, changed or deleted; or a run was requested, or its request was refused or queued.
    Tasks,
    /// The brake of the fleet is set, has ended or is released.
    Brake,
    /// An effect waits for consent from now on, or is decided.
    Approval {
        /// A run that has the effect.
        run: RunId,
        /// Fingerprint of the effect.
        effect: String,
    },
    /// Lines were appended to the log of a run that is followed.
    Log {
        /// The run.
        run: RunId,
    },
    /// A scheduler follows the log of a run. Repeated while the scheduler follows it.
    LogFollowed {
        /// The run.
        run: RunId,
        /// The replica that follows the log.
        replica: String,
    },
    /// A caller has begun to search a log, which ends the earlier search of this caller.
    LogSearch {
        /// The caller.
        caller: String,
        /// Time of the begin, by the clock of the sender.
        at: DateTime<Utc>,
    },
    /// The leadership may be vacant.
    Leadership,
    /// Hints may have been lost, for example when a connection broke: the receiver must read everything. Never
    /// published.
    Gap,
}

/// Hints of other processes, without an end. A broken connection is restored inside and shows as [`Hint::Gap`].
pub type HintStream = BoxStream<'static, Hint>;
