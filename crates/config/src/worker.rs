//! `worker`, a block of ours.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::block::Block;
use crate::module_source::clean;

/// More runs at a time make no sense on one machine.
const SLOTS_LIMITS: RangeInclusive<usize> = 1..=1024;
const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_mins(10);
const DRAIN_TIMEOUT_LIMITS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);

/// How one worker goes about its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// `slots`: how many runs one worker works on at a time; unset, twice the number of processors.
    pub slots: Option<NonZeroUsize>,
    /// `working_dir`, absolute: parent of the task directories of a worker that is a process of its
    /// own; `None` if it is left open.
    pub working_dir: Option<PathBuf>,
    /// `drain_timeout`: how long a worker that is stopped waits for its runs to finish, up to
    /// 24 h; 10 min by default.
    pub drain_timeout: Duration,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            slots: None,
            working_dir: None,
            drain_timeout: DEFAULT_DRAIN_TIMEOUT,
        }
    }
}

pub(crate) fn decode_worker(block: Option<Block<'_>>, current_dir: &Path) -> WorkerConfig {
    let mut worker = WorkerConfig::default();
    let Some(mut block) = block else {
        return worker;
    };
    let slots = block.number_within("slots", &SLOTS_LIMITS);
    worker.slots = slots.and_then(NonZeroUsize::new);
    let working_dir = block.text("working_dir").filter(|path| !path.is_empty());
    worker.working_dir = working_dir.map(|path| clean(&current_dir.join(path)));
    if let Some(written) = block.duration_within("drain_timeout", &DRAIN_TIMEOUT_LIMITS) {
        worker.drain_timeout = written.value;
    }
    block.finish();
    worker
}
