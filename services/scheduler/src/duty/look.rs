//! Looking at the stored tasks and requests, which any replica may change.

use std::collections::HashMap;
use std::time::Duration;

use cts_core::{Chain, TaskName};
use cts_store::{RunRequest, StoreError, StoredTask};
use tokio::time::Instant;

use super::Duty;
use crate::desk::{Present, Standing, Wanted};
use crate::following::Following;

/// Longest time between two looks: what nobody told is found after this.
const POLL: Duration = Duration::from_secs(1);

/// Shortest time between two looks, in which hints gather.
const GATHER: Duration = Duration::from_millis(5);

/// Of all its time the leader spends no more than one in so many on looks for which there was no hint.
const SHARE: u32 = 20;

/// When to look.
#[derive(Debug)]
pub(super) struct Looks {
    next: Instant,
    /// Hints do not make the next look earlier than this.
    earliest: Instant,
}

impl Looks {
    /// The first look is at once.
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            next: now,
            earliest: now,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Something may have changed.
    pub(super) fn hint(&mut self, now: Instant) {
        self.next = self.next.min(self.earliest.max(now));
    }

    fn ended(&mut self, begun: Instant, now: Instant) {
        let took = now.saturating_duration_since(begun);
        self.earliest = now + took.max(GATHER);
        self.next = now + POLL.max(took * SHARE);
    }
}

impl Duty {
    /// Brings the desk in line with the stored tasks and requests. Failing changes nothing; the next look
    /// comes.
    pub(super) async fn look(&mut self, following: &mut Following, looks: &mut Looks) {
        let begun = Instant::now();
        match self.stored().await {
            Ok((requests, tasks)) => {
                if self.arrange(&requests, &tasks) {
                    following.set_views(self.desk.views());
                }
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "cannot look for changed tasks, trying again");
            }
        }
        looks.ended(begun, Instant::now());
    }

    /// The requests are read first: then each is carried out with a task that is no older than itself.
    async fn stored(&self) -> Result<(Vec<RunRequest>, Vec<StoredTask>), StoreError> {
        let requests = self.store.requests().await?;
        let mut tasks = self.store.all_tasks().await?;
        if !self.desk.is_arranged() {
            // A task that was asked for since the requests were read looks as if an earlier leader had carried
            // its request out. The next look has both.
            let newer = self.store.requests().await?;
            let is_of = |task: &StoredTask, requests: &[RunRequest]| {
                let mut names = requests.iter().map(|request| &request.task);
                names.any(|name| name == task.spec.name())
            };
            tasks.retain(|task| {
                self.desk.has(task.spec.name()) || is_of(task, &requests) || !is_of(task, &newer)
            });
        }
        Ok((requests, tasks))
    }

    fn arrange(&mut self, requests: &[RunRequest], tasks: &[StoredTask]) -> bool {
        let mut wanted: HashMap<&TaskName, Vec<Wanted>> = HashMap::new();
        for request in requests {
            let of_task = wanted.entry(&request.task).or_default();
            of_task.push(Wanted {
                run: request.run,
                kind: request.kind,
            });
        }
        let present = tasks.iter().filter_map(|task| {
            Some(Present {
                spec: &task.spec,
                standing: standing(task)?,
                requests: wanted.remove(task.spec.name()).unwrap_or_default(),
            })
        });
        self.desk.arrange(present, self.started.elapsed())
    }
}

/// What changes do to a task; `None` if nothing is to happen with it any more.
fn standing(task: &StoredTask) -> Option<Standing> {
    use cts_core::TaskPhase;
    let enabled = task.spec.enabled;
    match task.phase {
        TaskPhase::Creating => Some(Standing::Draft { enabled }),
        TaskPhase::Ready if enabled => Some(Standing::Active),
        TaskPhase::Ready => Some(Standing::Disabled),
        TaskPhase::Deleting | TaskPhase::Discarded => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_gather_and_without_any_there_is_a_look_now_and_then() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let mut looks = Looks::begin(begun);
        assert_eq!(looks.next(), begun);
        looks.ended(begun, at(2));
        assert_eq!(looks.next(), at(1002));
        looks.hint(at(3));
        assert_eq!(looks.next(), at(7), "others may come");
        looks.ended(at(7), at(207));
        looks.hint(at(208));
        assert_eq!(looks.next(), at(407), "half of the time is for others");
        looks.ended(at(407), at(607));
        assert_eq!(looks.next(), at(4607));
    }
}
