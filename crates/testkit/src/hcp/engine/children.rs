//! Processes that run at present.

use std::collections::BTreeSet;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;

/// Processes that lead a group each.
#[derive(Debug, Default)]
pub(in super::super) struct Children(Mutex<BTreeSet<i32>>);

impl Children {
    pub(super) fn add(&self, id: u32) -> Child<'_> {
        let id = i32::try_from(id).unwrap_or_else(|error| panic!("process {id}: {error}"));
        self.0.lock().insert(id);
        Child { children: self, id }
    }

    /// Kills all with everything that they have started.
    pub(in super::super) fn kill(&self) {
        for &id in &*self.0.lock() {
            // A process may have ended by itself.
            let _gone = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// A process that is killed with its group when this is dropped, unless it has ended.
pub(super) struct Child<'a> {
    children: &'a Children,
    id: i32,
}

impl Child<'_> {
    /// Lets the process end in its own way.
    pub(super) fn interrupt(&self) {
        let _gone = kill(Pid::from_raw(self.id), Signal::SIGINT);
    }

    pub(super) fn kill(&self) {
        let _gone = killpg(Pid::from_raw(self.id), Signal::SIGKILL);
    }

    /// The process has ended.
    pub(super) fn ended(self) {
        self.children.0.lock().remove(&self.id);
    }
}

impl Drop for Child<'_> {
    fn drop(&mut self) {
        if self.children.0.lock().remove(&self.id) {
            self.kill();
        }
    }
}
