//! Workers as they register.

use crate::capability::Capabilities;
use crate::identity::WorkerId;
use crate::settings::BlockDigests;

/// A worker as it registers.
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
    /// Capabilities of the worker.
    pub capabilities: Capabilities,
    /// Whether the worker drains: it finishes its runs and takes no new ones.
    pub draining: bool,
    /// Digests of its backend and provider blocks; `None` for an earlier version, which does not report them.
    pub settings: Option<BlockDigests>,
}
