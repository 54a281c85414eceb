//! Workers as they tell of themselves.

use crate::capability::Capabilities;
use crate::identity::WorkerId;

/// A worker as it tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRecord {
    /// This life of the process.
    pub id: WorkerId,
    /// Name of its machine.
    pub host: String,
    /// Version of its program.
    pub version: String,
    /// Runs that it can work on at a time.
    pub slots: u32,
    /// What it can do.
    pub capabilities: Capabilities,
    /// It has been told to end, or has decided so: it finishes what it has and takes nothing new.
    pub draining: bool,
}
