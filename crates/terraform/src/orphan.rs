//! Terraform processes that have outlived the cts that started them (promise P1).
//!
//! Before a worker uses a task directory for the first time, it looks for processes that work in that directory with
//! the marker of cts in their environment, and stops them gently.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{Pid, getpid};
use tokio::time::{Instant, sleep};

use crate::directory::TaskDirectory;
use crate::guard::GUARD_MARKER;
use crate::markers::{TASK_DIRECTORY_MARKER, WORKER_MARKER};
use crate::processes::signal_group;
use crate::processes::{Environment, each_process, job_group, parent_of_living};
use crate::stop::{StopSequence, StopSignal, StopStep};

/// Pause between two polls of a group that is ending. Its processes are not children of cts, so no signal
/// comes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long killed processes may take to disappear.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Suffix that the kernel appends to the name of a removed working directory.
const DELETED: &[u8] = b" (deleted)";

/// A process group that was found at work in a task directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanGroup {
    /// Id of the group: the process id of its Terraform.
    pub group: i32,
    /// Ids of the processes found.
    pub processes: Vec<i32>,
}

/// Orphans could not be found or stopped; the directory must not be used.
#[derive(Debug, thiserror::Error)]
pub enum OrphanError {
    /// The processes of this machine could not be listed.
    #[error("could not list processes")]
    List(#[source] io::Error),
    /// Processes still exist after a kill.
    #[error("processes in {} do not end, even killed: groups {groups:?}", directory.display())]
    StillRunning {
        /// The task directory.
        directory: PathBuf,
        /// The process groups.
        groups: Vec<i32>,
    },
    /// The order to stop came while the guard of a dead worker was stopping them.
    #[error("interrupted while the guard of a dead worker was stopping its Terraform")]
    Cancelled,
    /// The scan of the processes ended abnormally.
    #[error("lost the search for processes")]
    Search(#[source] tokio::task::JoinError),
}

/// Stops every Terraform that an earlier cts left at work in `directory`, gently (interrupt, then terminate,
/// then kill), and returns when all are gone, with the process groups that were found.
///
/// Orphans are recognised by their working directory and by [`TASK_DIRECTORY_MARKER`] in their environment,
/// whatever worker they had. If the guard of that worker is still at work, they are left to it for the length
/// of the interrupt. Processes that a provisioner started in a session of their own are left alone. Must not
/// be called while a command of this process runs in the directory. Systems without `/proc` have no orphans
/// to be found.
///
/// `order` is the stop order of the attempt that wants the directory. When it is given, the wait for a guard
/// ends with [`OrphanError::Cancelled`]. A stop that has begun by then continues, because two cts must not
/// meet in the directory; if the order names a moment, the orphans are gone by that moment.
///
/// # Cancellation
/// Dropping the future leaves signals sent and processes ending; calling again goes on.
pub async fn stop_orphans(
    directory: &TaskDirectory,
    order: &StopSignal,
) -> Result<Vec<OrphanGroup>, OrphanError> {
    let found = search(directory).await?;
    if found.groups.is_empty() {
        return Ok(found.groups);
    }
    let all = found.groups.clone();
    let left = wait_for_guard(directory, found, order).await?;
    stop_groups(directory, left, order).await?;
    Ok(all)
}

/// Leaves the orphans to the guard of their worker while it runs. Returns the orphans that are left after
/// that.
async fn wait_for_guard(
    directory: &TaskDirectory,
    found: Found,
    order: &StopSignal,
) -> Result<Vec<OrphanGroup>, OrphanError> {
    let Found {
        groups: mut left,
        mut guarded,
    } = found;
    // A second interrupt would make Terraform give up at once and leave its state lock.
    let deadline = Instant::now() + order.policy().interrupt_grace;
    if guarded {
        tracing::info!(directory = %directory.path().display(),
            "waiting for the guard of a dead worker to stop its terraform");
    }
    while guarded && !left.is_empty() && Instant::now() < deadline {
        tokio::select! {
            () = order.cancelled() => return Err(OrphanError::Cancelled),
            () = sleep(POLL_INTERVAL) => {}
        }
        let now = search(directory).await?;
        (left, guarded) = (now.groups, now.guarded);
    }
    Ok(left)
}

async fn stop_groups(
    directory: &TaskDirectory,
    mut left: Vec<OrphanGroup>,
    order: &StopSignal,
) -> Result<(), OrphanError> {
    let begun = Instant::now();
    let mut course = StopSequence::new(order.policy());
    let mut terms = order.terms();
    let mut taken = BTreeMap::<i32, StopStep>::new();
    let mut killing_since = None;
    while !left.is_empty() {
        let now = begun.elapsed();
        let kill_by = terms.borrow_and_update().kill_by;
        if let Some(kill_by) = kill_by {
            course.hurry(now, kill_by.saturating_duration_since(begun));
        }
        let step = course.due(now);
        for OrphanGroup { group, .. } in &left {
            let before = taken.insert(*group, step);
            if before != Some(step) {
                tracing::warn!(group, signal = %step.signal(), directory = %directory.path().display(),
                    "stopping a terraform that an earlier cts left behind");
            }
            // A kill is repeated: a process that still exists was started since.
            if before.is_none_or(|before| before < step) || step == StopStep::Kill {
                signal_group(Pid::from_raw(*group), step.signal());
            }
        }
        if step == StopStep::Kill
            && now.saturating_sub(*killing_since.get_or_insert(now)) >= KILL_GRACE
        {
            return Err(OrphanError::StillRunning {
                directory: directory.path().to_owned(),
                groups: left.into_iter().map(|orphan| orphan.group).collect(),
            });
        }
        sleep(POLL_INTERVAL).await;
        left = search(directory).await?.groups;
    }
    Ok(())
}

/// The result of a scan of the processes of a directory.
struct Found {
    groups: Vec<OrphanGroup>,
    /// Whether the guard of a dead worker is about to stop some of these processes.
    guarded: bool,
}

async fn search(directory: &TaskDirectory) -> Result<Found, OrphanError> {
    let path = directory.path().to_owned();
    tokio::task::spawn_blocking(move || groups_working_in(&path))
        .await
        .map_err(OrphanError::Search)?
        .map_err(OrphanError::List)
}

fn groups_working_in(directory: &Path) -> io::Result<Found> {
    // The kernel shows working directories without symbolic links.
    let directory = fs::canonicalize(directory).unwrap_or_else(|_missing| directory.to_owned());
    let mut groups = BTreeMap::<i32, Vec<i32>>::new();
    let mut workers = BTreeSet::new();
    each_process(|id, process| {
        if let Some((group, worker)) = orphan(process, &directory) {
            groups.entry(group).or_default().push(id);
            workers.extend(worker);
        }
        true
    })?;
    let mut guarded = false;
    if !workers.is_empty() {
        each_process(|_id, process| {
            guarded = is_guard(process, &workers);
            !guarded
        })?;
    }
    let groups = groups
        .into_iter()
        .map(|(group, processes)| OrphanGroup { group, processes })
        .collect();
    Ok(Found { groups, guarded })
}

/// The group of a process that works in `directory`, and the id of its worker, if it has one.
fn orphan(process: &Path, directory: &Path) -> Option<(i32, Option<Vec<u8>>)> {
    let working_directory = fs::read_link(process.join("cwd")).ok()?;
    if !is_same_directory(working_directory, directory) {
        return None;
    }
    let environment = Environment::of(process)?;
    environment.get(TASK_DIRECTORY_MARKER)?;
    let worker = environment.get(WORKER_MARKER).map(<[u8]>::to_vec);
    Some((job_group(process)?, worker))
}

/// Whether a process is the guard of one of `workers`, but not of this process: this worker's own guard does nothing
/// while the worker lives.
fn is_guard(process: &Path, workers: &BTreeSet<Vec<u8>>) -> bool {
    let guards = Environment::of(process).is_some_and(|environment| {
        environment
            .get(GUARD_MARKER)
            .is_some_and(|worker| workers.contains(worker))
    });
    guards && parent_of_living(process).is_some_and(|parent| parent != getpid().as_raw())
}

fn is_same_directory(working_directory: PathBuf, directory: &Path) -> bool {
    let bytes = working_directory.into_os_string().into_vec();
    let existing = bytes.strip_suffix(DELETED).unwrap_or(&bytes);
    bytes == directory.as_os_str().as_bytes() || existing == directory.as_os_str().as_bytes()
}
