//! The processes of this machine, from `/proc`.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgrp};

use crate::markers::TASK_DIRECTORY_MARKER;

/// Shows `visit` the id and the `/proc` directory of every process, until `visit` ends the walk
/// with `false`. Systems without `/proc` have no processes to be found.
pub(crate) fn each_process(mut visit: impl FnMut(i32, &Path) -> bool) -> io::Result<()> {
    let processes = match fs::read_dir("/proc") {
        Ok(processes) => processes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for process in processes {
        let process = process?;
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok());
        if let Some(id) = id
            && !visit(id, &process.path())
        {
            break;
        }
    }
    Ok(())
}

/// The environment with which a process was started.
pub(crate) struct Environment(Vec<u8>);

impl Environment {
    /// The environment of a process; `None` if the process has ended, or belongs to another user and so not to cts.
    pub(crate) fn of(process: &Path) -> Option<Self> {
        fs::read(process.join("environ")).ok().map(Self)
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.split(|byte| *byte == 0).find_map(|variable| {
            variable
                .strip_prefix(name.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
        })
    }
}

/// The process group of a process that may be part of a Terraform command. Returns `None` for a group that leads a
/// session, which only a daemon started by a provisioner does; for the group of this process; and for a group that
/// cannot be named from here, which the kernel shows as 0 and treats as the caller's own group.
pub(crate) fn job_group(process: &Path) -> Option<i32> {
    let stat = Stat::of(process)?;
    let is_job = stat.group > 0 && stat.group != stat.session && stat.group != getpgrp().as_raw();
    (is_job && !stat.ended).then_some(stat.group)
}

/// Whether `group` has a process that was started for the task directory `directory`.
pub(crate) fn is_at_work(group: i32, directory: &Path) -> io::Result<bool> {
    let mut found = false;
    each_process(|_id, process| {
        found = job_group(process) == Some(group)
            && Environment::of(process).is_some_and(|environment| {
                environment.get(TASK_DIRECTORY_MARKER) == Some(directory.as_os_str().as_bytes())
            });
        !found
    })?;
    Ok(found)
}

/// The parent of a process, unless the process has ended and is only left for its parent to collect.
pub(crate) fn parent_of_living(process: &Path) -> Option<i32> {
    let stat = Stat::of(process)?;
    (!stat.ended).then_some(stat.parent)
}

struct Stat {
    ended: bool,
    parent: i32,
    group: i32,
    session: i32,
}

impl Stat {
    fn of(process: &Path) -> Option<Self> {
        let stat = fs::read(process.join("stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name of the program stands in parentheses and may itself contain anything.
        let (_name, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        Some(Self {
            ended: matches!(state, "Z" | "X"),
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            session: fields.next()?.parse().ok()?,
        })
    }
}

/// Signals every process of a group; a group that is gone needs no signal.
pub(crate) fn signal_group(group: Pid, signal: Signal) {
    match killpg(group, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => tracing::warn!(%group, %signal, %error, "could not signal terraform"),
    }
}
