//! Becoming a member: an id belongs to one process at a time.

use std::time::Duration;

use cts_store::{Leadership, Member, Store};
use tokio::time::{Instant, sleep};

use crate::options::RunError;

/// Polls of the other process within the life of the leadership.
const POLLS: u32 = 20;

/// Longest time between two.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Outcome of the request that made the process a member.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) asked: Instant,
    pub(crate) leadership: Leadership,
}

/// Makes `member` a member, and the leader if no other member leads.
///
/// If another process has the id, or had it until a moment ago, waits for at most `time_to_live`: that process may be
/// an earlier life of this one, before a crash. Fails if the other process renews in that time. Cancel safe.
pub(crate) async fn join(
    store: &dyn Store,
    member: &Member,
    time_to_live: Duration,
) -> Result<Joined, RunError> {
    let mut before = None;
    loop {
        let asked = Instant::now();
        let leadership = store
            .lead(member, None, time_to_live)
            .await
            .map_err(RunError::Prepare)?;
        let Some(silent_for) = leadership.id_in_use else {
            return Ok(Joined { asked, leadership });
        };
        match before {
            None => {
                tracing::warn!(
                    target: "ha",
                    id = member.id,
                    at_most = ?time_to_live.saturating_sub(silent_for),
                    "a process with this id was alive a moment ago, waiting until it is certain that it is not"
                );
            }
            // The other process has renewed since the last poll.
            Some(before) if silent_for < before => {
                return Err(RunError::IdInUse {
                    id: member.id.clone(),
                });
            }
            Some(_) => {}
        }
        before = Some(silent_for);
        let pause = (time_to_live / POLLS).min(LONGEST_PAUSE);
        sleep(pause.min(time_to_live.saturating_sub(silent_for))).await;
    }
}
