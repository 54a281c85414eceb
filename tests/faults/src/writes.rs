//! Writes to the API while everything fails, and the promises of their answers.

mod book;
mod call;
mod cancels;
mod last;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cts_tests::Api;
use reqwest::Client;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use self::book::{Book, Declared, Follows, Order, Outcome, Shown, TaskState};
use self::call::{send, show};
use self::cancels::Cancels;
use crate::audit::Confirmed;
use crate::between::Between;
use crate::plan::{Plan, Write};
use crate::violation::{Rule, Violation};

/// How long an answer is waited for: runs are part of some.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Writes {
    client: Client,
    apis: Vec<Api>,
    pub(crate) book: Book,
    /// Tasks whose deletion destroys their resources.
    destroyed: BTreeSet<usize>,
    open: JoinSet<Answered>,
    at_work: BTreeSet<usize>,
    /// Tasks that were created or deleted, or may have been: their history starts from the beginning.
    pub(crate) reborn: BTreeSet<usize>,
    /// Tasks whose deletion was confirmed, and that were not created since.
    pub(crate) deleted: BTreeSet<usize>,
    /// Writes that were confirmed lately: the task, between which moments it was written, and its state before.
    recent: Vec<(usize, Between, TaskState)>,
    /// Number of answers by the kind of request and by their promise.
    pub(crate) figures: BTreeMap<String, usize>,
    /// Writes that were confirmed.
    pub(crate) confirmed: usize,
    /// Confirmed writes that were not shown, and between which moments they were made.
    violations: Vec<(Between, Violation)>,
    cancels: Cancels,
}

#[derive(Debug)]
struct Answered {
    task: usize,
    order: Order,
    outcome: Outcome,
    /// The period from the request to its answer.
    written: Between,
    /// The answer of another gateway right after a confirmed write.
    shown: Result<Option<Shown>, String>,
}

impl Writes {
    pub(crate) fn new(plan: &Plan, apis: Vec<Api>) -> Self {
        let client = Client::builder().no_proxy().timeout(TIMEOUT).build();
        Self {
            client: client.unwrap(),
            apis,
            book: Book::new(plan),
            destroyed: (0..plan.all_tasks())
                .filter(|&number| Plan::destroys(number))
                .collect(),
            open: JoinSet::new(),
            at_work: BTreeSet::new(),
            reborn: BTreeSet::new(),
            deleted: BTreeSet::new(),
            recent: Vec::new(),
            figures: BTreeMap::new(),
            confirmed: 0,
            violations: Vec::new(),
            cancels: Cancels::default(),
        }
    }

    /// Sends a write, unless its task is in doubt or has a write without an answer yet. Does not wait.
    pub(crate) fn send(&mut self, write: &Write) {
        self.collect();
        let certain = self.book.certain(write.task);
        let order = certain
            .filter(|_| !self.at_work.contains(&write.task) && !self.book.is_of_files(write.task))
            .map(|state| order(state, write));
        let Some(order) = order else {
            self.count("left out");
            return;
        };
        if matches!(order, Order::Create { .. } | Order::Delete) {
            self.reborn.insert(write.task);
        }
        self.at_work.insert(write.task);
        let place = write.gateway % self.apis.len();
        let api = self.apis[place].clone();
        let other = self.apis[(place + 1) % self.apis.len()].clone();
        let (client, task) = (self.client.clone(), write.task);
        let destroys = self.destroyed.contains(&task);
        self.open.spawn(async move {
            let sent = Instant::now();
            let outcome = send(&client, &api, (task, destroys), &order).await;
            let written = Between(sent, Instant::now());
            let readable = outcome == Outcome::Confirmed && order != Order::Delete;
            let shown = if readable {
                show(&other, task).await
            } else {
                Err("nothing to look at".to_owned())
            };
            Answered {
                task,
                order,
                outcome,
                written,
                shown,
            }
        });
    }

    /// Takes down the answers that have come.
    pub(crate) fn collect(&mut self) {
        while let Some(answered) = self.open.try_join_next() {
            self.take_down(answered.unwrap());
        }
        self.collect_cancels();
    }

    /// Waits for all answers.
    pub(crate) async fn finish(&mut self) {
        while let Some(answered) = self.open.join_next().await {
            self.take_down(answered.unwrap());
        }
        self.finish_cancels().await;
    }

    /// Runs whose cancellation was confirmed, and is not forgotten.
    pub(crate) fn cancelled(&self) -> Vec<Confirmed> {
        self.cancels.confirmed()
    }

    fn take_down(&mut self, answered: Answered) {
        let Answered {
            task,
            order,
            outcome,
            written,
            shown,
        } = answered;
        self.at_work.remove(&task);
        let before = self.book.certain(task).cloned();
        self.book.note(task, &order, outcome);
        let name = match &order {
            Order::Create { .. } => "POST",
            Order::Replace { .. } => "PUT",
            Order::Switch { .. } => "PATCH",
            Order::Delete => "DELETE",
        };
        self.count(&format!("{name} {outcome:?}").to_lowercase());
        match order {
            Order::Delete if outcome == Outcome::Confirmed => {
                self.deleted.insert(task);
            }
            Order::Create { .. } if outcome != Outcome::Refused => {
                self.deleted.remove(&task);
            }
            _ => {}
        }
        if outcome != Outcome::Confirmed {
            return;
        }
        self.confirmed += 1;
        self.recent
            .extend(before.map(|before| (task, written, before)));
        // A failover in between would take it back.
        if let Ok(shown) = shown
            && let Err(evidence) = self.book.clone().settle(task, shown.as_ref())
        {
            let violation = Violation::new(
                Rule::NothingLost,
                Plan::task(task),
                format!("right after {order:?} was confirmed: {evidence}"),
            );
            self.violations
                .push((Between(written.0, Instant::now()), violation));
        }
    }

    /// Makes writes of this period uncertain, because the database has forgotten them.
    pub(crate) fn forget(&mut self, lost: Between) {
        for (task, written, before) in &self.recent {
            if written.may_be_in(lost) {
                self.book.doubt(*task, before.clone());
                self.reborn.insert(*task);
                self.deleted.remove(task);
            }
        }
        self.violations
            .retain(|(between, _)| !between.may_be_in(lost));
        self.cancels.forget(lost);
    }

    /// The files of this version are in force.
    pub(crate) fn declare(&mut self, plan: &Plan, version: u64) {
        self.book.declare(plan, version);
        let of_files = |number: &usize| plan.is_of_files(*number);
        self.reborn.extend(self.book.numbers().filter(of_files));
    }

    /// Compares every task with the API's answer. To be called when nothing is at work any more.
    pub(crate) async fn settle(&mut self) -> Result<Vec<Violation>, String> {
        let api = self.apis[0].clone();
        self.recent.clear();
        let early = std::mem::take(&mut self.violations);
        let mut violations: Vec<Violation> = early.into_iter().map(|(_, one)| one).collect();
        let numbers: Vec<usize> = self.book.numbers().collect();
        for task in numbers {
            let shown = show(&api, task).await?;
            if let Err(evidence) = self.book.settle(task, shown.as_ref()) {
                let name = Plan::task(task);
                violations.push(Violation::new(Rule::NothingLost, name, evidence));
            }
        }
        Ok(violations)
    }

    fn count(&mut self, what: &str) {
        *self.figures.entry(what.to_owned()).or_default() += 1;
    }
}

/// The effect of a write on a task in this state.
fn order(state: &TaskState, write: &Write) -> Order {
    let services = write.services.clone();
    let now = !write.choice.is_multiple_of(4);
    match state {
        TaskState::Absent => Order::Create {
            services,
            enabled: !write.choice.is_multiple_of(9),
            now,
        },
        TaskState::Present(task) => match write.choice {
            0..=24 => Order::Replace {
                services,
                enabled: task.enabled,
                now,
            },
            25..=44 => Order::Switch {
                on: !task.enabled,
                now,
            },
            45..=84 => Order::Switch {
                on: true,
                now: true,
            },
            _ => Order::Delete,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Engine, Extent, Setup, Shape, Size};

    /// A plan with few tasks.
    pub(super) fn plan() -> Plan {
        let size = Size {
            tasks: 6,
            spare: 2,
            services: 3,
        };
        let setup = Setup::new(1, Shape::Cluster, Engine::Real);
        Plan::new(1, size, setup, Extent::Time(Duration::ZERO))
    }

    #[test]
    fn a_write_does_what_can_be_done() {
        let write = |choice| Write {
            task: 0,
            choice,
            services: vec![1],
            gateway: 0,
        };
        let absent = TaskState::Absent;
        let present = TaskState::Present(Declared {
            services: vec![0],
            enabled: true,
            follows: Follows::Surely,
        });
        for choice in 0..100 {
            assert!(matches!(
                order(&absent, &write(choice)),
                Order::Create { .. }
            ));
            assert!(!matches!(
                order(&present, &write(choice)),
                Order::Create { .. }
            ));
        }
    }

    #[tokio::test]
    async fn writes_during_a_failover_are_in_doubt_however_late_they_are_recorded() {
        let plan = plan();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        for (written, is_in_doubt) in [(1, false), (5, true), (9, false)] {
            let mut writes = Writes::new(&plan, Vec::new());
            writes.take_down(Answered {
                task: 0,
                order: Order::Delete,
                outcome: Outcome::Confirmed,
                written: Between(at(written), at(written + 1)),
                shown: Err("nothing to look at".to_owned()),
            });
            writes.forget(Between(at(4), at(7)));
            assert_eq!(writes.book.certain(0).is_none(), is_in_doubt, "{written}");
        }
    }
}
