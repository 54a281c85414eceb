//! Intervals at which a remote run is polled, and the reasons why it waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cts_core::poll_pause;
use cts_hcp_terraform::{Run, Workspace};

use super::RemoteDriver;

/// The pauses after the first looks at a run.
const FIRST_PAUSES: [u64; 5] = [1, 1, 2, 3, 4];

/// With more runs than this, logs are read when their stage has ended.
const LIVE_LOGS: usize = 20;

/// One remote run that is polled as long as the value lives.
pub(crate) struct Polled(Arc<AtomicUsize>);

impl Polled {
    pub(crate) fn new(driver: &RemoteDriver) -> Self {
        driver.polled.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&driver.polled))
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RemoteDriver {
    fn polled(&self) -> usize {
        self.polled.load(Ordering::Relaxed)
    }

    /// Whether few enough runs are followed to read their logs while they grow.
    pub(crate) fn reads_live(&self) -> bool {
        self.polled() <= LIVE_LOGS
    }
}

/// The pause after poll `look` of a run, counted from 0: short at first if few runs are followed, otherwise so long
/// that all polls stay within the worker's share.
pub(crate) fn pause(driver: &RemoteDriver, look: usize) -> Duration {
    let usual = poll_pause(driver.polled(), driver.share.per_minute());
    let first = FIRST_PAUSES
        .get(look)
        .map(|&pause| Duration::from_secs(pause));
    match first {
        Some(first) if driver.reads_live() => first.min(usual),
        _ => usual,
    }
}

/// The reason for which a run has not begun.
pub(crate) fn waiting_for(workspace: &Workspace, run: &Run) -> Option<String> {
    if workspace.is_locked && !workspace.is_locked_by_run() {
        return Some(match workspace.relationships.locked_by.id() {
            Some(id) => format!("the workspace is locked by {id}"),
            None => "the workspace is locked".to_owned(),
        });
    }
    let current = workspace.relationships.current_run.id();
    let current = current.filter(|current| *current != run.id)?;
    Some(format!("the run {current} of the workspace comes first"))
}
