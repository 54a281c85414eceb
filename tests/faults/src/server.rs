//! The server that makes the runs: its faults, and the persons who decide on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cts_testkit::HcpServer;
use cts_testkit::hcp::{Fault, RunRecord};
use cts_tests::{RemoteServer, Site, start_stub};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::audit::{Decided, RemoteRuns};
use crate::plan::{Decision, ServerFault};
use crate::processes;

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Delay of each answer of a slow server.
const DELAY: Duration = Duration::from_millis(700);

/// Requests that fail in one fault.
const FAILURES: usize = 8;

/// A stub of HCP Terraform with the real Terraform.
#[derive(Debug)]
pub(crate) struct Server {
    stub: HcpServer,
    remote: RemoteServer,
    decided: Mutex<Vec<Decided>>,
    /// Decisions that go on, while which runs may wait for a confirmation.
    decisions: AtomicUsize,
}

impl Server {
    pub(crate) async fn start(site: &Site) -> Self {
        let stub = start_stub(site.path(), |_settings| {}).await;
        Self {
            remote: RemoteServer::of_stub(&stub, site.path()),
            stub,
            decided: Mutex::default(),
            decisions: AtomicUsize::new(0),
        }
    }

    /// The driver block.
    pub(crate) fn driver(&self) -> String {
        self.remote.driver("")
    }

    /// Terraform's state of a task.
    pub(crate) fn state(&self, task: &str) -> Result<Vec<u8>, String> {
        let state = self.stub.state(&self.workspace(task));
        let state = state.ok_or_else(|| format!("{task} has no state on the server"))?;
        Ok(state.to_string().into_bytes())
    }

    /// Runs that persons have ended, in order.
    pub(crate) fn decided(&self) -> Vec<Decided> {
        let decided = self.decided.lock();
        decided.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether persons have ended a run of a task.
    pub(crate) fn has_decided(&self, task: &str) -> bool {
        self.decided().iter().any(|decided| decided.task == task)
    }

    /// All runs of a task, the oldest first.
    pub(crate) fn runs(&self, task: &str) -> RemoteRuns {
        let runs = self.stub.runs(&self.workspace(task));
        let keys = runs
            .iter()
            .filter_map(|run| Some((run.id.clone(), cts_run(run)?)));
        keys.collect()
    }

    pub(crate) async fn misbehave(&self, how: ServerFault, time: Duration) {
        match how {
            ServerFault::Down => {
                self.stub.go_down().await;
                sleep(time).await;
                self.stub.come_up().await;
            }
            ServerFault::HoldsUploads => {
                self.stub.hold_uploads();
                sleep(time).await;
                self.stub.release_uploads();
            }
            ServerFault::Slow => {
                let slow = Fault::delay("*", "/**", DELAY).times(usize::MAX);
                self.stub.fault(slow);
                sleep(time).await;
                self.stub.clear_faults();
            }
            ServerFault::Refuses => {
                self.stub
                    .fault(Fault::status("*", "/**", 503).times(FAILURES));
                sleep(time).await;
                self.stub.clear_faults();
            }
            ServerFault::LosesAnswers => {
                for path in ["/runs", "/runs/*/actions/*"] {
                    self.stub
                        .fault(Fault::lose_answer("POST", path).times(FAILURES));
                }
                sleep(time).await;
                self.stub.clear_faults();
            }
        }
    }

    /// Lets persons decide about the runs of these tasks.
    pub(crate) async fn decide(&self, decision: Decision, tasks: &[String], time: Duration) {
        let end = Instant::now() + time;
        let waits = matches!(decision, Decision::ConfirmLate | Decision::Discard);
        if waits {
            self.decisions.fetch_add(1, Ordering::Relaxed);
            self.apply_by_itself(tasks, false);
        }
        let workspaces = tasks.iter().map(|task| self.workspace(task));
        let locked: Vec<String> = workspaces
            .filter(|_| decision == Decision::Lock)
            .filter(|workspace| self.stub.try_on_workspace(workspace, "lock"))
            .collect();
        while Instant::now() < end {
            match decision {
                Decision::Discard => self.end(tasks, "discard"),
                Decision::Cancel => self.end(tasks, "cancel"),
                Decision::ConfirmLate | Decision::Lock => {}
            }
            sleep(BETWEEN_LOOKS).await;
        }
        for workspace in locked {
            self.stub.try_on_workspace(&workspace, "force-unlock");
        }
        if waits {
            self.apply_by_itself(tasks, true);
            self.decisions.fetch_sub(1, Ordering::Relaxed);
            self.confirm_all();
        }
    }

    /// Confirms everything that waits for a confirmation, unless a decision is going on.
    pub(crate) fn confirm_all(&self) {
        if self.decisions.load(Ordering::Relaxed) > 0 {
            return;
        }
        for workspace in self.stub.workspaces() {
            let runs = self.stub.runs(&workspace).into_iter();
            for run in runs.filter(|run| run.confirmable && !run.phase.is_end()) {
                self.stub.try_on_run(&run.id, "apply");
            }
        }
    }

    /// Ends the runs of these tasks that have not ended.
    fn end(&self, tasks: &[String], action: &str) {
        for task in tasks {
            let runs = self.stub.runs(&self.workspace(task)).into_iter();
            for run in runs.filter(|run| !run.phase.is_end() && !run.plan_only) {
                if let Some(key) = cts_run(&run)
                    && self.stub.try_on_run(&run.id, action)
                {
                    let decided = Decided {
                        task: task.clone(),
                        run: key,
                        remote: run.id,
                        at: processes::uptime(),
                    };
                    let mut all = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
                    if all.iter().all(|known| known.remote != decided.remote) {
                        all.push(decided);
                    }
                }
            }
        }
    }

    fn apply_by_itself(&self, tasks: &[String], by_itself: bool) {
        for task in tasks {
            let attributes = json!({"auto-apply": by_itself});
            // A workspace that does not exist yet is made with auto apply.
            self.stub
                .try_to_update_workspace(&self.workspace(task), attributes);
        }
    }

    fn workspace(&self, task: &str) -> String {
        format!("{}{task}", self.remote.prefix)
    }
}

/// The run of cts that a remote run is for, by its message.
fn cts_run(run: &RunRecord) -> Option<String> {
    let (_, key) = run.message.split_once('[')?;
    let (id, _number) = key.split_once('/')?;
    Some(id.to_owned())
}
