//! Rest after the trouble: everything is as the catalog and the answers of the API say.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{BETWEEN_LOOKS, Suite};
use crate::audit;
use crate::conditions::Kind;
use crate::observed::history;
use crate::observed::resources;
use crate::plan::Plan;
use crate::report::say;
use crate::violation::{Rule, Violation};
use crate::writes::Follows;

const BETWEEN_WORDS: Duration = Duration::from_secs(20);
/// Follows the name of a task whose destruction waits for another deletion.
const SUSPENDED: &str = " is suspended";
/// Follows the name of a task that finds an earlier version of its state in its backend, and was made after
/// that was moved away.
const KNOWS_NO_MOVE: &str = " knows no move";
/// Follows the name of such a task that was moved before. Only a failover that forgot the last move may cause
/// that.
const HAS_TWO_STATES: &str = " has two states";
const READ_TIMEOUT: Duration = Duration::from_secs(10);

impl Suite<'_> {
    /// Waits until everything is applied and nothing waits or is at work.
    pub(super) async fn settle(&mut self, limit: Duration) -> Result<(), String> {
        let end = Instant::now() + limit;
        let wanted = std::sync::Arc::clone(&self.scene.outside.wanted);
        retry(end, async || wanted.lock().await.settle().await).await?;
        self.until_quiet(end).await?;
        // Writes that were in doubt are certain from here on.
        loop {
            match self.writes.settle().await {
                Ok(violations) => {
                    self.report.violations.extend(violations);
                    break;
                }
                Err(complaint) if Instant::now() > end => return Err(complaint),
                Err(_) => sleep(BETWEEN_LOOKS).await,
            }
        }
        self.until_quiet(end).await?;
        self.check_catalog(end).await?;
        self.check_states(end).await?;
        self.check_flags(end).await
    }

    async fn until_quiet(&mut self, end: Instant) -> Result<(), String> {
        let mut said = Instant::now();
        loop {
            self.campaign.look_after(&mut self.scene.system).await;
            let unbraked = self.unbraked().await;
            let complaint = match unbraked.and(self.quiet().await) {
                Ok(()) => return Ok(()),
                Err(complaint) => complaint,
            };
            if Instant::now() > end {
                return Err(format!("not quiet in time: {complaint}"));
            }
            if said.elapsed() > BETWEEN_WORDS {
                said = Instant::now();
                say(&format!("not quiet yet: {complaint}"));
            }
            sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Fails while the brake of the fleet is set, which is released then.
    async fn unbraked(&mut self) -> Result<(), String> {
        match self.apis().first() {
            Some(api) if self.plan.setup.brake => self.brakes.ended(api).await,
            _ => Ok(()),
        }
    }

    async fn quiet(&self) -> Result<(), String> {
        if let Some(server) = &self.scene.outside.server {
            server.confirm_all();
        }
        let unfinished = audit::unfinished(&self.scene.outside.database).await;
        let unfinished = unfinished.map_err(|error| error.to_string())?;
        if !unfinished.is_empty() {
            self.go_on_with_destructions(&unfinished).await;
            self.decide_states(&unfinished).await;
            return Err(format!("unfinished: {unfinished:?}"));
        }
        for (number, task) in self.writes.book.present() {
            if !task.enabled || task.follows != Follows::Surely {
                continue;
            }
            let applied = self.scene.applied(number).await;
            let wanted = self.scene.outside.wanted.lock().await;
            let wanted = wanted.text(Kind::of(number), &task.services);
            let name = Plan::task(number);
            let applied = applied.map_err(|error| format!("{name}: {error}"))?;
            if applied != wanted {
                return Err(format!("{name} has applied {applied} and not {wanted}"));
            }
        }
        Ok(())
    }

    /// Deletes tasks once more whose destruction is suspended, since it was cancelled.
    async fn go_on_with_destructions(&self, unfinished: &[String]) {
        let suspended = unfinished
            .iter()
            .filter_map(|one| one.strip_suffix(SUSPENDED));
        for task in suspended {
            // The next look tells whether it goes on.
            self.writes.delete_again(task).await;
        }
    }

    /// Decides, as an operator does, that tasks keep the newer of two versions of their states.
    async fn decide_states(&self, unfinished: &[String]) {
        let has_forgotten = !self.campaign.forgotten.borrow().is_empty();
        let undecided = unfinished.iter().filter_map(|one| {
            let forgotten = one.strip_suffix(HAS_TWO_STATES).filter(|_| has_forgotten);
            one.strip_suffix(KNOWS_NO_MOVE).or(forgotten)
        });
        for task in undecided {
            // The next look tells whether it goes on.
            self.writes.keep_old_state(task).await;
        }
    }

    /// Compares the wanted catalog with the one that Consul itself shows.
    async fn check_catalog(&self, end: Instant) -> Result<(), String> {
        let wanted = self.scene.outside.wanted.lock().await;
        for service in 0..self.plan.size.services {
            let of_service = [service];
            let probe = async || wanted.text_in_catalog(&of_service).await;
            let in_catalog = retry(end, probe).await?;
            let ordered = wanted.text(Kind::Names, &of_service);
            if in_catalog != ordered {
                return Err(format!("the catalog has {in_catalog} and not {ordered}"));
            }
        }
        Ok(())
    }

    /// Compares the resources in the states of tasks that must have applied the state of the catalog.
    async fn check_states(&mut self, end: Instant) -> Result<(), String> {
        let mut violations = Vec::new();
        for (number, task) in self.writes.book.present() {
            if !task.enabled || task.follows != Follows::Surely {
                continue;
            }
            let read = async || resources::in_state(&self.scene.state(number).await?);
            let name = Plan::task(number);
            let state = retry(end, read)
                .await
                .map_err(|error| format!("{name}: {error}"))?;
            let wanted = self.scene.outside.wanted.lock().await;
            let wanted = wanted.text(Kind::of(number), &task.services);
            let differs = resources::difference(&resources::made_for(&wanted), &state);
            violations.extend(differs.map(|how| Violation::new(Rule::StateIsExact, name, how)));
        }
        self.report.violations.extend(violations);
        Ok(())
    }

    /// The enabled flags as every gateway shows them.
    async fn check_flags(&mut self, end: Instant) -> Result<(), String> {
        for api in self.apis() {
            let statuses = retry(end, async || {
                let ask = api.ask("/v1/status/tasks");
                match timeout(READ_TIMEOUT, ask).await {
                    Ok(Ok((200, statuses))) => Ok(statuses),
                    other => Err(format!("status of tasks: {other:?}")),
                }
            })
            .await?;
            let wrong = history::wrong_flags(&self.writes.book, &statuses);
            self.report.violations.extend(wrong);
        }
        Ok(())
    }
}

pub(super) async fn retry<T>(
    end: Instant,
    mut probe: impl AsyncFnMut() -> Result<T, String>,
) -> Result<T, String> {
    loop {
        match probe().await {
            Err(_) if Instant::now() < end => sleep(BETWEEN_LOOKS).await,
            result => return result,
        }
    }
}
