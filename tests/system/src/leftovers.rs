//! Terraform processes that outlive their cts: in groups of their own, so that only their environment
//! tells whose they are.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What cts puts into the environment of every Terraform, followed by its task directory.
const MARKER: &[u8] = b"CTS_TASK_DIR=";

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Looks at a process between SIGTERM and SIGKILL, and after that.
const POLLS: usize = 100;

/// Living processes that were started, directly or not, by a cts for a task directory below `directory`.
pub(crate) fn processes_below(directory: &Path) -> Vec<Pid> {
    let mut marked = MARKER.to_vec();
    marked.extend(directory.as_os_str().as_bytes());
    marked.push(b'/');
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| {
            // A process that has ended, a zombie too, has no environment.
            fs::read(format!("/proc/{id}/environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable.starts_with(&marked))
            })
        })
        .map(Pid::from_raw)
        .collect()
}

/// Ends them all: SIGTERM, then SIGKILL. Blocks for a few seconds at most.
pub(crate) fn end_processes_below(directory: &Path) {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for process in processes_below(directory) {
            // Whatever is gone already needs no signal.
            let _gone = kill(process, signal);
        }
        for _ in 0..POLLS {
            if processes_below(directory).is_empty() {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
