//! The life of a run, from its creation to its end.

mod children;
mod directory;
mod made_up;
mod program;
mod queue;
mod stage_result;

use std::sync::Arc;

use super::call::identifier;
use super::model::{Cancel, Model, Policy, PolicyCheck, Run, StageName, StateVersion};
use super::phase::Phase;
use super::shared::Shared;
pub(super) use children::Children;
use directory::RunDirectory;
use queue::{configuration, has_machine, mode_of, takes_turn};
use stage_result::Step;

/// Follows a run until it ends.
pub(super) async fn follow(shared: Arc<Shared>, id: String) {
    let life = Life { shared, id };
    let end = match life.live().await {
        Ok(end) | Err(end) => end,
    };
    life.shared.change(|model| model.end_run(&life.id, end));
}

struct Life {
    shared: Arc<Shared>,
    id: String,
}

impl Life {
    async fn live(&self) -> Step<Phase> {
        self.enter(Phase::Pending).await?;
        self.wait(|model, at| takes_turn(model, at).then_some(()))
            .await?;
        self.enter(Phase::Fetching).await?;
        let (content, mode) = self
            .wait(|model, at| Some(configuration(model, &model.runs[at])))
            .await??;
        self.queue(StageName::Plan).await?;
        self.enter(Phase::Planning).await?;
        let directory = RunDirectory::prepare(&self.shared, &self.id, &content)?;
        self.stage(&directory, StageName::Plan).await?;
        let changed = self.run(|run| Some(run.has_changes)).await?;
        self.enter(Phase::Planned).await?;
        let plan_only = self.run(|run| Some(run.plan_only)).await?;
        if !changed && !plan_only {
            return Ok(Phase::PlannedAndFinished);
        }
        self.check_costs_and_policies(plan_only).await?;
        if plan_only {
            return Ok(Phase::PlannedAndFinished);
        }
        self.run(|run| confirmed(run).then_some(())).await?;
        self.enter(Phase::Confirmed).await?;
        self.queue(StageName::Apply).await?;
        let now = self
            .wait(|model, at| mode_of(model, &model.runs[at]))
            .await?;
        if now != mode {
            return Err(Phase::Errored);
        }
        self.enter(Phase::Applying).await?;
        self.stage(&directory, StageName::Apply).await?;
        Ok(Phase::Applied)
    }

    /// Waits for a value from the model and the position of the run there. Ends if the run is discarded, cancelled or
    /// deleted.
    async fn wait<T>(&self, mut probe: impl FnMut(&mut Model, usize) -> Option<T>) -> Step<T> {
        let probe = |model: &mut Model| {
            let Some(at) = model.runs.iter().position(|run| run.id == self.id) else {
                return Some(Err(Phase::Canceled));
            };
            match stopped(&model.runs[at]) {
                Some(end) => Some(Err(end)),
                None => probe(model, at).map(Ok),
            }
        };
        self.shared.until(probe).await
    }

    /// Waits for a value from the run.
    async fn run<T>(&self, mut probe: impl FnMut(&mut Run) -> Option<T>) -> Step<T> {
        self.wait(|model, at| probe(&mut model.runs[at])).await
    }

    /// Enters a status and waits until the test does not hold it.
    async fn enter(&self, phase: Phase) -> Step<()> {
        self.shared.change(|model| {
            if let Some(run) = model.run_mut(&self.id)
                && stopped(run).is_none()
                && run.status != phase
            {
                run.enter(phase);
            }
        });
        self.wait(|model, _| (!model.held.contains(&phase)).then_some(()))
            .await
    }

    /// Waits for the machine or the agent of a stage.
    async fn queue(&self, name: StageName) -> Step<()> {
        let phase = match name {
            StageName::Plan => Phase::PlanQueued,
            StageName::Apply => Phase::ApplyQueued,
        };
        self.shared.change(|model| {
            if let Some(run) = model.run_mut(&self.id) {
                run.stage(name).status = "queued";
            }
        });
        self.enter(phase).await?;
        self.wait(|model, at| has_machine(model, &model.runs[at]).then_some(()))
            .await
    }

    async fn stage(&self, directory: &RunDirectory, name: StageName) -> Step<()> {
        self.run(|run| {
            run.stage(name).start();
            Some(())
        })
        .await?;
        let result = match &directory.program {
            Some(program) => program.stage(directory, name).await,
            None => made_up::stage(directory, name).await,
        };
        let state = directory.state().await;
        self.shared.change(|model| {
            if name == StageName::Apply
                && let Some(content) = state
            {
                keep_state(model, &self.id, content);
            }
            let Some(run) = model.run_mut(&self.id) else {
                return Err(Phase::Canceled);
            };
            if name == StageName::Plan {
                run.has_changes = result.has_changes;
            }
            if let Some(end) = stopped(run) {
                return Err(end);
            }
            run.stage(name).end(if result.succeeded {
                "finished"
            } else {
                "errored"
            });
            if result.succeeded {
                Ok(())
            } else {
                Err(Phase::Errored)
            }
        })
    }

    async fn check_costs_and_policies(&self, plan_only: bool) -> Step<()> {
        let find = |model: &Model, run: &Run| {
            let workspace = model.workspace(&run.workspace)?;
            Some((workspace.estimates_costs, workspace.policy))
        };
        let (costs, policy) = self.wait(|model, at| find(model, &model.runs[at])).await?;
        if costs {
            self.enter(Phase::CostEstimating).await?;
            self.enter(Phase::CostEstimated).await?;
        }
        let status = match policy {
            Policy::None => return Ok(()),
            Policy::Passed => "passed",
            Policy::SoftFailed => "soft_failed",
        };
        self.enter(Phase::PolicyChecking).await?;
        self.run(|run| {
            let id = identifier("polchk");
            run.policy = Some(PolicyCheck { id, status });
            Some(())
        })
        .await?;
        match policy {
            Policy::SoftFailed if plan_only => return Err(Phase::PolicySoftFailed),
            Policy::SoftFailed => {
                self.enter(Phase::PolicyOverride).await?;
                let overridden = |run: &Run| run.status == Phase::PolicyChecked;
                self.run(|run| overridden(run).then_some(())).await?;
            }
            Policy::None | Policy::Passed => {}
        }
        self.enter(Phase::PolicyChecked).await
    }
}

/// Status with which a run ends now.
fn stopped(run: &Run) -> Option<Phase> {
    match run.cancel {
        _ if run.status.is_end() => Some(run.status),
        Cancel::Not => None,
        Cancel::Requested(_) => Some(Phase::Canceled),
        Cancel::Forced => Some(Phase::ForceCanceled),
    }
}

/// Auto apply confirms at once. Without it the run waits for a person.
fn confirmed(run: &mut Run) -> bool {
    if run.status == Phase::Confirmed || run.auto_apply {
        return true;
    }
    run.confirmable = true;
    false
}

/// Keeps the state that an apply has left, if it differs.
fn keep_state(model: &mut Model, id: &str, content: Vec<u8>) {
    let Some(run) = model.run(id) else {
        return;
    };
    let known = model.current_state(&run.workspace);
    if known.is_none_or(|known| known.content != content) {
        let state = StateVersion::of_run(&run.workspace, id, content);
        model.state_versions.push(state);
    }
}
