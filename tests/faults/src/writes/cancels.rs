//! Runs that are cancelled: one of the runs that the API shows, of a task without other writes.

use std::time::Duration;

use cts_tests::Api;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Writes;
use super::book::{Outcome, TaskState};
use crate::audit::Confirmed;
use crate::between::Between;
use crate::plan::{Cancel, Plan};
use crate::processes;

const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Requests to cancel runs, and their outcomes.
#[derive(Debug, Default)]
pub(super) struct Cancels {
    looks: JoinSet<Look>,
    open: JoinSet<Answered>,
    confirmed: Vec<(Between, Confirmed)>,
}

/// The runs to choose from.
#[derive(Debug)]
struct Look {
    cancel: Cancel,
    runs: Vec<Shown>,
}

/// A run as the API lists it.
#[derive(Debug, Clone)]
struct Shown {
    id: String,
    task: String,
    /// The run destroys the resources of a deleted task.
    destroys: bool,
}

#[derive(Debug)]
struct Answered {
    task: usize,
    run: String,
    what: String,
    answer: Option<(u16, String)>,
    written: Between,
    at: u64,
}

impl Cancels {
    pub(super) fn confirmed(&self) -> Vec<Confirmed> {
        self.confirmed.iter().map(|(_, one)| one.clone()).collect()
    }

    /// Forgets requests of this period, because the database has forgotten them.
    pub(super) fn forget(&mut self, lost: Between) {
        self.confirmed
            .retain(|(written, _)| !written.may_be_in(lost));
    }
}

impl Writes {
    /// Asks for the runs that could be cancelled. Does not wait.
    pub(crate) fn look(&mut self, cancel: &Cancel) {
        let api = self.apis[cancel.gateway % self.apis.len()].clone();
        let cancel = cancel.clone();
        self.cancels.looks.spawn(async move {
            let runs = listed(&api, cancel.status()).await;
            Look { cancel, runs }
        });
    }

    /// Waits for runs that could be cancelled, and sends the request about one of them.
    pub(crate) async fn looked(&mut self) {
        match self.cancels.looks.join_next().await {
            Some(look) => self.cancel(look.unwrap()),
            None => std::future::pending().await,
        }
    }

    fn cancel(&mut self, Look { cancel, runs }: Look) {
        self.collect();
        let numbers: Vec<usize> = self.book.numbers().collect();
        let number = |name: &str| {
            numbers
                .iter()
                .copied()
                .find(|&task| Plan::task(task) == name)
        };
        let is_free = |task: usize, destroys: bool| {
            let is_fit = match self.book.certain(task) {
                Some(TaskState::Present(_)) => true,
                Some(TaskState::Absent) => destroys,
                None => false,
            };
            is_fit && !self.at_work.contains(&task) && !self.book.is_of_files(task)
        };
        let free: Vec<(usize, String)> = runs
            .into_iter()
            .filter_map(|run| Some((number(&run.task)?, run)))
            .filter(|(task, run)| is_free(*task, run.destroys))
            .map(|(task, run)| (task, run.id))
            .collect();
        let what = format!(
            "cancel {}{}",
            cancel.status(),
            if cancel.force { " by force" } else { "" }
        );
        if free.is_empty() {
            return self.count(&format!("{what} left out"));
        }
        let (task, run) = free[cancel.choice % free.len()].clone();
        self.at_work.insert(task);
        let api = self.apis[cancel.gateway % self.apis.len()].clone();
        let client = self.client.clone();
        self.cancels.open.spawn(async move {
            let sent = Instant::now();
            let answer = send(&client, &api, &run, cancel.force).await;
            Answered {
                task,
                run,
                what,
                answer,
                written: Between(sent, Instant::now()),
                at: processes::uptime(),
            }
        });
    }

    /// Lets a destruction go on that was cancelled.
    pub(crate) async fn delete_again(&self, task: &str) {
        let url = self.apis[0].url(&format!("/v1/tasks/{task}"));
        drop(timeout(READ_TIMEOUT, self.client.delete(url).send()).await);
    }

    /// Decides that a task goes on with the state of the old backend, whatever state the new one has.
    pub(crate) async fn keep_old_state(&self, task: &str) {
        let url = self.apis[0].url(&format!("/v1/tasks/{task}/state"));
        let decision = self.client.post(url).json(&json!({"keep": "old"}));
        drop(timeout(READ_TIMEOUT, decision.send()).await);
    }

    pub(super) fn collect_cancels(&mut self) {
        while let Some(answered) = self.cancels.open.try_join_next() {
            self.take_down_cancel(answered.unwrap());
        }
    }

    /// Waits for all answers. Looks that are under way lead to nothing.
    pub(super) async fn finish_cancels(&mut self) {
        self.cancels.looks.abort_all();
        while self.cancels.looks.join_next().await.is_some() {}
        while let Some(answered) = self.cancels.open.join_next().await {
            self.take_down_cancel(answered.unwrap());
        }
    }

    fn take_down_cancel(&mut self, answered: Answered) {
        self.at_work.remove(&answered.task);
        let (status, shown) = answered.answer.unzip();
        let outcome = outcome(status);
        self.count(&format!("{} {outcome:?}", answered.what).to_lowercase());
        if outcome == Outcome::Refused {
            return;
        }
        // Without an answer the input may wait for the next change as well.
        self.book.cancelled(answered.task);
        if outcome == Outcome::Confirmed {
            let confirmed = Confirmed {
                run: answered.run,
                task: Plan::task(answered.task),
                answered: answered.at,
                withdrawn: shown.is_some_and(|shown| shown == "cancelled"),
            };
            self.cancels.confirmed.push((answered.written, confirmed));
        }
    }
}

async fn listed(api: &Api, status: &str) -> Vec<Shown> {
    let path = format!("/v1/runs?status={status}&limit=50");
    match timeout(READ_TIMEOUT, api.ask(&path)).await {
        Ok(Ok((200, answer))) => read(&answer),
        _ => Vec::new(),
    }
}

fn read(answer: &Value) -> Vec<Shown> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let runs = answer["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| {
        Some(Shown {
            id: text(&run["id"])?,
            task: text(&run["task_name"])?,
            destroys: run["kind"] == "destroy",
        })
    })
    .collect()
}

/// The status of the answer, if one came, and that of the run in it.
async fn send(client: &Client, api: &Api, run: &str, force: bool) -> Option<(u16, String)> {
    let request = client.post(api.url(&format!("/v1/runs/{run}/cancel")));
    let request = if force {
        request.body(json!({"force": true}).to_string())
    } else {
        request
    };
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    let answer: Value = answer.json().await.unwrap_or_default();
    let shown = answer["run"]["status"].as_str().unwrap_or_default();
    Some((status, shown.to_owned()))
}

/// See docs/rest.md#cancelling-a-run.
const fn outcome(status: Option<u16>) -> Outcome {
    match status {
        Some(200 | 202) => Outcome::Confirmed,
        Some(400 | 404 | 409) => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_runs_are_read() {
        let answer = json!({"runs": [
            {"id": "r", "task_name": "task-1", "status": "running"},
            {"status": "running"},
        ]});
        let runs = read(&answer);
        assert_eq!(
            (runs.len(), &*runs[0].id, &*runs[0].task),
            (1, "r", "task-1")
        );
    }

    #[tokio::test]
    async fn a_cancelled_run_leaves_its_task_waiting_for_the_next_change() {
        let mut writes = Writes::new(&super::super::tests::plan(), Vec::new());
        let now = Instant::now();
        for (status, confirmed, follows) in [
            (Some(409), 0, super::super::Follows::Surely),
            (Some(202), 1, super::super::Follows::FromNextChange),
            (None, 1, super::super::Follows::FromNextChange),
        ] {
            writes.take_down_cancel(Answered {
                task: 0,
                run: "r".to_owned(),
                what: "cancel running".to_owned(),
                answer: status.map(|status| (status, "running".to_owned())),
                written: Between(now, now),
                at: 0,
            });
            assert_eq!(writes.cancelled().len(), confirmed, "{status:?}");
            let Some(TaskState::Present(task)) = writes.book.certain(0) else {
                panic!("task 0 is there");
            };
            assert_eq!(task.follows, follows, "{status:?}");
        }
        writes.cancels.forget(Between(now, now));
        assert_eq!(writes.cancelled(), []);
    }
}
