//! Applies of saved plans, and their conditions: here a gate that the test opens, lets lapse or lets hang.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{PlanMode, TaskDefinition, TaskName};
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::{RunKind, WaitEnd};
use cts_worker::{ApprovalGate, GatedPlan, GivenUp, PendingApproval, Rejected};
use tokio::process::Command;
use tokio::sync::watch;
use tonic::Code;

use crate::stage::{SECRET, Stage, terraform_path};

const KEEPS: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = "<token-of-the-stage>"
}
"#;

const NAME: &str = "the gate of the test";

/// The state of the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum GateState {
    NotRequested,
    Requested,
    Came,
    Rejected,
    GivenUp,
}

/// The test's side of a gate.
#[derive(Debug, Clone)]
struct TestGate {
    state: Arc<watch::Sender<GateState>>,
    text: Arc<std::sync::Mutex<String>>,
}

impl TestGate {
    fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(GateState::NotRequested)),
            text: Arc::default(),
        }
    }

    async fn until(&self, state: GateState) {
        let mut seen = self.state.subscribe();
        let wait = seen.wait_for(|now| *now == state);
        let waited = tokio::time::timeout(Duration::from_mins(1), wait).await;
        drop(waited.expect("in time").unwrap());
    }

    fn set(&self, state: GateState) {
        self.state.send_replace(state);
    }

    fn state(&self) -> GateState {
        self.state.borrow().clone()
    }
}

impl ApprovalGate for TestGate {
    fn awaited(&self, plan: &GatedPlan<'_>) -> Option<Box<dyn PendingApproval>> {
        assert_eq!(plan.task, "edge");
        assert_eq!(plan.resources.map(|resources| resources.added), Some(1));
        plan.text.clone_into(&mut self.text.lock().unwrap());
        self.set(GateState::Requested);
        Some(Box::new(self.clone()))
    }
}

#[tonic::async_trait]
impl PendingApproval for TestGate {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    async fn came(&self) -> Result<(), Rejected> {
        let mut seen = self.state.subscribe();
        let come = |now: &GateState| matches!(now, GateState::Came | GateState::Rejected);
        let now = seen.wait_for(come).await.unwrap().clone();
        match now {
            GateState::Came => Ok(()),
            _ => Err(Rejected {
                reason: "a person said no".to_owned(),
            }),
        }
    }

    async fn give_up(&self, _why: GivenUp) {
        self.set(GateState::GivenUp);
    }
}

fn saved(definition: &mut TaskDefinition) {
    definition.file_definition.plan = PlanMode::Saved;
}

/// A worker with one slot and a run whose apply waits.
async fn waiting() -> (Stage, TestGate) {
    let gate = TestGate::new();
    let stage = Stage::gated(KEEPS, Some(Arc::new(gate.clone())), |_options| {}).await;
    stage.strings.grant(RunKind::Apply, stage.input_of(saved));
    stage
        .strings
        .until(|conduct| !conduct.suspended.is_empty())
        .await;
    assert_eq!(gate.state(), GateState::Requested);
    (stage, gate)
}

#[tokio::test]
async fn a_saved_plan_is_what_is_applied_and_its_file_goes() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Apply, stage.input_of(saved));
    stage.strings.applied().await;
    let log = stage.strings.log();
    assert!(log.contains("Plan: 1 to add"), "{log}");
    assert!(log.contains("Apply complete! Resources: 1 added"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    let details = stage.strings.details();
    assert_eq!(details.resources.map(|resources| resources.added), Some(1));
    assert_eq!(details.changes.len(), 1);
    let phases = details.phases.unwrap();
    assert!(phases.plan.is_some() && phases.apply.is_some());
    assert!(stage.state().exists());
    assert!(!stage.file("saved.tfplan").exists());
    assert_eq!(stage.strings.conduct(|conduct| conduct.suspended.len()), 0);
}

#[tokio::test]
async fn a_run_that_waits_takes_no_slot_and_leaves_no_plan_on_disk() {
    let (mut stage, gate) = waiting().await;
    assert!(!stage.file("saved.tfplan").exists());
    assert!(!gate.text.lock().unwrap().contains(SECRET));
    let suspended = stage.strings.conduct(|conduct| conduct.suspended.clone());
    assert_eq!(suspended[0], NAME);

    let other = stage.input_of(|definition| {
        definition.name = TaskName::new("other").unwrap();
        definition.working_dir = "sync-tasks/other".into();
    });
    stage.strings.grant(RunKind::Plan, other);
    let outcome = stage.strings.outcome().await;
    assert!(matches!(outcome, Outcome::Planned(_)), "{outcome:?}");

    gate.set(GateState::Came);
    stage.strings.applied().await;
    assert_eq!(stage.strings.conduct(|conduct| conduct.resumed), 1);
    assert!(stage.state().exists());
}

#[tokio::test]
async fn wait_ends_without_an_apply_when_its_task_wants_something_else() {
    let ends = [
        WaitEnd::NewerInput,
        WaitEnd::TaskChanged,
        WaitEnd::TaskDeleted,
        WaitEnd::CheckQueued,
    ];
    for end in ends {
        let (mut stage, gate) = waiting().await;
        stage.strings.conduct(|conduct| conduct.wait_end = end);
        stage.strings.interrupted().await;
        assert_eq!(gate.state(), GateState::GivenUp);
        assert!(!stage.state().exists());
    }
}

#[tokio::test]
async fn approval_that_comes_too_late_is_given_up() {
    let (mut stage, gate) = waiting().await;
    stage.strings.conduct(|conduct| conduct.group_busy = true);
    gate.set(GateState::Came);
    stage
        .strings
        .conduct(|conduct| conduct.wait_end = WaitEnd::NewerInput);
    stage.strings.interrupted().await;
    assert_eq!(gate.state(), GateState::GivenUp);
    assert!(!stage.state().exists());
}

#[tokio::test]
async fn a_draining_worker_hands_its_wait_on() {
    let (mut stage, gate) = waiting().await;
    stage.shutdown.drain.cancel();
    stage.strings.interrupted().await;
    assert_eq!(gate.state(), GateState::GivenUp);
}

#[tokio::test]
async fn a_wait_in_vain_says_so() {
    let (mut stage, gate) = waiting().await;
    gate.set(GateState::Rejected);
    let error = stage.strings.failed().await;
    assert_eq!(
        error,
        "it waited in vain for the gate of the test: a person said no"
    );
    assert_eq!(gate.state(), GateState::Rejected);
    assert!(!stage.state().exists());
}

#[tokio::test]
async fn a_run_whose_group_is_busy_waits_on() {
    let (mut stage, gate) = waiting().await;
    stage.strings.conduct(|conduct| conduct.group_busy = true);
    gate.set(GateState::Came);
    stage
        .strings
        .until(|conduct| conduct.asked_to_resume > 1)
        .await;
    assert!(!stage.state().exists());
    stage.strings.conduct(|conduct| conduct.group_busy = false);
    stage.strings.applied().await;
}

#[tokio::test]
async fn a_plan_is_refused_if_the_state_has_moved() {
    let (mut stage, gate) = waiting().await;
    apply_by_hand(stage.state().ancestors().nth(3).unwrap()).await;
    gate.set(GateState::Came);
    let error = stage.strings.failed().await;
    assert!(error.contains("Saved plan is stale"), "{}", error);
    assert!(!stage.file("saved.tfplan").exists());
}

async fn apply_by_hand(directory: &Path) {
    let status = Command::new(terraform_path())
        .args(["apply", "-auto-approve", "-input=false"])
        .current_dir(directory)
        .env("CHECKPOINT_DISABLE", "1")
        .env_remove("TF_CLI_CONFIG_FILE")
        .status();
    assert!(status.await.unwrap().success());
}

#[tokio::test]
async fn a_plan_without_changes_waits_for_nothing() {
    let (mut stage, gate) = waiting().await;
    gate.set(GateState::Came);
    assert!(matches!(stage.strings.outcome().await, Outcome::Applied(_)));
    gate.set(GateState::NotRequested);
    stage.strings.grant(RunKind::Apply, stage.input_of(saved));
    assert!(matches!(stage.strings.outcome().await, Outcome::Applied(_)));
    assert_eq!(gate.state(), GateState::NotRequested);
}

#[tokio::test]
async fn a_lost_lease_ends_a_wait() {
    let gate = TestGate::new();
    let stage = Stage::gated(KEEPS, Some(Arc::new(gate.clone())), |_options| {}).await;
    stage
        .strings
        .conduct(|conduct| conduct.life = Duration::from_secs(9));
    stage.strings.grant(RunKind::Apply, stage.input_of(saved));
    gate.until(GateState::Requested).await;
    // Set only now, so that a busy machine gets as far as the wait.
    stage
        .strings
        .conduct(|conduct| conduct.renewals = Some(Code::FailedPrecondition));
    gate.until(GateState::GivenUp).await;
    assert!(!stage.state().exists());
}
