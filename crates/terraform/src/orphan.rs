//! Terraform processes that have outlived the cts which started them (promise P1).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpgrp};
use tokio::time::{Instant, sleep};

use crate::command::TASK_DIRECTORY_MARKER;
use crate::directory::TaskDirectory;
use crate::process::{StopPolicy, signal_group};

/// Between two looks at whether a group is gone. The processes are not our children, so nothing
/// tells us.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long killed processes may take to disappear.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// What the kernel appends to the name of a working directory that was removed.
const DELETED: &[u8] = b" (deleted)";

/// A process group that was found at work in a task directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanGroup {
    /// Id of the group: the process id of its Terraform.
    pub group: i32,
    /// Ids of the processes found.
    pub processes: Vec<i32>,
}

/// Orphans could not be found out or stopped; the directory must not be used.
#[derive(Debug, thiserror::Error)]
pub enum OrphanError {
    /// The processes of this machine could not be listed.
    #[error("could not list processes")]
    List(#[source] io::Error),
    /// Processes are still there after a kill.
    #[error("processes in {} do not end, even killed: groups {groups:?}", directory.display())]
    StillRunning {
        /// The task directory.
        directory: PathBuf,
        /// The process groups.
        groups: Vec<i32>,
    },
    /// The look at the processes ended abnormally.
    #[error("lost the search for processes")]
    Search(#[source] tokio::task::JoinError),
}

/// Stops every Terraform that an earlier cts left at work in `directory`, gently (interrupt, then
/// terminate, then kill), and returns when all are gone, with what was found.
///
/// Orphans are recognised by their working directory and by [`TASK_DIRECTORY_MARKER`] in their
/// environment. Processes that a provisioner started in a session of their own are left alone. Must
/// not be called while a command of this process runs in the directory. Systems without `/proc` have
/// no orphans to be found.
///
/// # Cancellation
/// Dropping the future leaves signals sent and processes ending; calling again goes on.
pub async fn stop_orphans(
    directory: &TaskDirectory,
    stop: StopPolicy,
) -> Result<Vec<OrphanGroup>, OrphanError> {
    let found = search(directory).await?;
    if found.is_empty() {
        return Ok(found);
    }
    let steps = [
        (Signal::SIGINT, stop.interrupt_grace),
        (Signal::SIGTERM, stop.terminate_grace),
        (Signal::SIGKILL, KILL_GRACE),
    ];
    let mut left = found.clone();
    for (signal, grace) in steps {
        for orphan in &left {
            tracing::warn!(group = orphan.group, %signal, directory = %directory.path().display(),
                "stopping a terraform that an earlier cts left behind");
            signal_group(Pid::from_raw(orphan.group), signal);
        }
        let deadline = Instant::now() + grace;
        loop {
            left = search(directory).await?;
            if left.is_empty() {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
    }
    Err(OrphanError::StillRunning {
        directory: directory.path().to_owned(),
        groups: left.into_iter().map(|orphan| orphan.group).collect(),
    })
}

async fn search(directory: &TaskDirectory) -> Result<Vec<OrphanGroup>, OrphanError> {
    let path = directory.path().to_owned();
    tokio::task::spawn_blocking(move || groups_working_in(&path))
        .await
        .map_err(OrphanError::Search)?
        .map_err(OrphanError::List)
}

fn groups_working_in(directory: &Path) -> io::Result<Vec<OrphanGroup>> {
    // The kernel tells working directories without symbolic links.
    let directory = fs::canonicalize(directory).unwrap_or_else(|_missing| directory.to_owned());
    let processes = match fs::read_dir("/proc") {
        Ok(processes) => processes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut groups = BTreeMap::<i32, Vec<i32>>::new();
    for process in processes {
        let process = process?;
        let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        // Whatever cannot be read has ended meanwhile, or belongs to another user and so is not ours.
        let Ok(working_directory) = fs::read_link(process.path().join("cwd")) else {
            continue;
        };
        if !is_same_directory(working_directory, &directory) || !has_marker(&process.path()) {
            continue;
        }
        if let Some(group) = job_group(&process.path()) {
            groups.entry(group).or_default().push(id);
        }
    }
    Ok(groups
        .into_iter()
        .map(|(group, processes)| OrphanGroup { group, processes })
        .collect())
}

fn is_same_directory(working_directory: PathBuf, directory: &Path) -> bool {
    let bytes = working_directory.into_os_string().into_vec();
    let existing = bytes.strip_suffix(DELETED).unwrap_or(&bytes);
    bytes == directory.as_os_str().as_bytes() || existing == directory.as_os_str().as_bytes()
}

fn has_marker(process: &Path) -> bool {
    let Ok(environment) = fs::read(process.join("environ")) else {
        return false;
    };
    environment.split(|byte| *byte == 0).any(|variable| {
        variable
            .strip_prefix(TASK_DIRECTORY_MARKER.as_bytes())
            .is_some_and(|rest| rest.starts_with(b"="))
    })
}

/// The process group of a process that may be part of a Terraform command: not a group that leads a
/// session, which only a daemon started by a provisioner does, and not our own.
fn job_group(process: &Path) -> Option<i32> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program stands in parentheses and may itself contain anything.
    let (_name, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let _parent = fields.next()?;
    let group = fields.next()?.parse::<i32>().ok()?;
    let session = fields.next()?.parse::<i32>().ok()?;
    let ended = matches!(state, "Z" | "X");
    (!ended && group != session && group != getpgrp().as_raw()).then_some(group)
}
