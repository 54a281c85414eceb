//! Which worker is which.

use std::path::Path;

use cts_testkit::eventually;
use nix::unistd::Pid;

use super::{Cluster, Service};
use crate::DEADLINE;
use crate::environment::{parent_of, processes, variable_of};
use crate::leftovers::TASK_MARKER;

/// Environment variable in which a worker passes its id to its guard.
const GUARD_MARKER: &str = "CTS_GUARD";

impl Cluster {
    /// Id of a running worker, as `cts workers list` shows it; waits for its guard, which has it.
    pub async fn worker_id(&self, worker: usize) -> String {
        let pid = Pid::from_raw(self.pid(Service::Worker, worker));
        eventually(DEADLINE, async || {
            let mut guards = processes()
                .into_iter()
                .filter(|one| parent_of(*one) == Some(pid));
            guards
                .find_map(|guard| variable_of(guard, GUARD_MARKER))
                .ok_or("the worker has no guard")
        })
        .await
    }

    /// Index of the worker in whose directory a living Terraform is at work.
    pub fn worker_of(&self, terraform: i32) -> usize {
        let directory = variable_of(Pid::from_raw(terraform), TASK_MARKER);
        let directory = directory.unwrap_or_else(|| panic!("Terraform {terraform} has ended"));
        (0..self.count(Service::Worker))
            .find(|worker| Path::new(&directory).starts_with(self.work(*worker)))
            .unwrap_or_else(|| panic!("{directory} belongs to no worker"))
    }
}
