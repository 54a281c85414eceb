//! The brake of the fleet as stored.

use chrono::{DateTime, Utc};
use cts_core::TaskName;
use cts_core::brake::{BrakedRun, NotedFleet};

use crate::error::StoreError;

/// The brake as the leader has noted it last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredBrake {
    /// Number of releases, which the leader names when it notes the numbers.
    pub releases: u64,
    /// The numbers.
    pub fleet: NotedFleet,
    /// Number of tasks that the brake holds.
    pub held: u32,
}

/// Result of noting the numbers of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrakeNote {
    /// The numbers are noted.
    Noted {
        /// If this has set the brake: tasks whose queued runs it holds.
        held: Vec<TaskName>,
        /// If this has set the brake: leased runs that take instances away.
        leased: Vec<BrakedRun>,
    },
    /// Nothing is noted: a person has released the brake since.
    Released(StoredBrake),
}

/// Numbers of a brake that a caller has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenBrake {
    /// Lost instances.
    pub lost: u64,
    /// Instances of the reference.
    pub of: u64,
}

impl SeenBrake {
    /// Whether more is lost than the caller has seen. For implementations.
    pub fn is_exceeded_by(self, fleet: &NotedFleet) -> bool {
        let more = fleet.lost > self.lost;
        // If the fleet has become smaller, the same loss is a larger part of the fleet.
        more || fleet.of < self.of && fleet.lost == self.lost && fleet.lost > 0
    }
}

/// Why a brake is not released.
#[derive(Debug, thiserror::Error)]
pub enum BrakeError {
    /// More is lost than the caller has seen.
    #[error("{lost} of {of} instances are lost by now")]
    LostMore {
        /// Lost instances.
        lost: u64,
        /// Instances of the reference.
        of: u64,
    },
    /// The database has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The first apply of a task since a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstApply {
    /// An apply is queued or leased, and none has succeeded.
    Open,
    /// An apply has succeeded.
    Ended {
        /// Time of its lease.
        started: DateTime<Utc>,
        /// Time of its end.
        ended: DateTime<Utc>,
    },
}
