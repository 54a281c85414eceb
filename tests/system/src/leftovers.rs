//! Processes that outlive the cts that started them, Terraform and guards: in groups of their own, so that
//! only their environment says whose they are.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::environment::{processes, variable_of};

/// Environment variable in which cts passes every Terraform its task directory.
pub(crate) const TASK_MARKER: &str = "CTS_TASK_DIR";

/// Environment variable in which tests pass every process that they start the site's directory.
pub(crate) const SITE_MARKER: &str = "TEST_SITE";

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Looks at a process between SIGTERM and SIGKILL, and after that.
const POLLS: usize = 100;

/// Living processes that were started, directly or not, by a cts for a task directory below `directory`.
pub(crate) fn processes_below(directory: &Path) -> Vec<Pid> {
    let is_below = |process: &Pid| {
        variable_of(*process, TASK_MARKER)
            .is_some_and(|path| Path::new(&path).starts_with(directory))
    };
    processes().into_iter().filter(is_below).collect()
}

/// Living processes that were started, directly or not, by the test whose site is `directory`.
fn processes_of_site(directory: &Path) -> Vec<Pid> {
    let is_of_site = |process: &Pid| {
        variable_of(*process, SITE_MARKER).is_some_and(|path| Path::new(&path) == directory)
    };
    processes().into_iter().filter(is_of_site).collect()
}

/// Ends everything of the site: SIGTERM, then SIGKILL. Blocks for a few seconds at most.
pub(crate) fn end_processes_of_site(directory: &Path) {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for process in processes_of_site(directory) {
            // A process that is already gone needs no signal.
            let _gone = kill(process, Signal::SIGCONT);
            let _gone = kill(process, signal);
        }
        for _ in 0..POLLS {
            if processes_of_site(directory).is_empty() {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
