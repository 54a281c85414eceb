//! The processes that are left of a group when its leader has ended.
//!
//! A Terraform that crashes or is killed from outside leaves its providers running. They may go on writing;
//! in a container nothing else would ever end them.

use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::processes::{is_at_work, signal_group};
use crate::stop::{StopSignal, until_latest_kill};

/// Pause between two polls of whether a group is empty. Its processes are not children of cts.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long killed processes may take to disappear.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Terminates the rest of `group`, whose leader has ended, and kills the group after the time of the policy, or at the
/// moment that `order` names. Returns whether the group is empty.
///
/// A group keeps its id while any process is in it. An empty group may have lost its id to unrelated processes;
/// therefore a group is signalled only right after a process was seen in it that was started for `directory`.
///
/// # Cancellation
/// Dropping the future leaves signals sent.
pub(super) async fn end(group: Pid, directory: &Path, order: &StopSignal) -> bool {
    let begun = Instant::now();
    let mut sent = None;
    let mut killing_since = None;
    while is_left(group, directory).await {
        let now = begun.elapsed();
        let mut kill_at = order.policy().terminate_grace;
        let kill_by = order.terms().borrow().kill_by;
        if let Some(kill_by) = kill_by {
            kill_at = kill_at.min(until_latest_kill(kill_by.saturating_duration_since(begun)));
        }
        let signal = if now < kill_at {
            Signal::SIGTERM
        } else {
            Signal::SIGKILL
        };
        if sent.replace(signal) != Some(signal) {
            tracing::warn!(%group, %signal, "stopping what terraform has left behind");
            signal_group(group, signal);
        } else if signal == Signal::SIGKILL {
            // A process that still exists was started since.
            signal_group(group, signal);
        }
        if signal == Signal::SIGKILL
            && now.saturating_sub(*killing_since.get_or_insert(now)) >= KILL_GRACE
        {
            tracing::error!(%group, "what terraform has left behind does not end, even killed");
            return false;
        }
        sleep(POLL_INTERVAL).await;
    }
    true
}

/// Whether the group still has a process that was started for `directory`.
async fn is_left(group: Pid, directory: &Path) -> bool {
    // The group is nearly always empty, and this shows it quickly.
    if killpg(group, None) == Err(Errno::ESRCH) {
        return false;
    }
    let directory = directory.to_owned();
    let look = spawn_blocking(move || is_at_work(group.as_raw(), &directory));
    match look.await {
        Ok(Ok(left)) => left,
        Ok(Err(error)) => {
            tracing::warn!(%group, %error, "cannot look for what terraform has left behind");
            false
        }
        Err(error) => {
            tracing::warn!(%group, %error, "cannot look for what terraform has left behind");
            false
        }
    }
}
