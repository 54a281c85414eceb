//! Permission to do what a plan would do, which the scheduler gives (docs/runs.md#consent).

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_proto::run::v1::PermitDecision;
use cts_rpc::CallFailure;
use cts_terraform::{PlanOutput, SavedPlan};
use tokio::time::sleep;

use super::local_run::LocalRun;
use super::own_lock::retry_after_unlock;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::not_permitted::NotPermitted;
use crate::redaction::Redactor;

/// Pause after a question that no scheduler answers.
const PUT_OFF: Duration = Duration::from_secs(5);

impl LocalRun<'_> {
    /// Makes the plan of a change, which is reported. If the run needs permission, returns only with that.
    pub(super) async fn plan_change(
        self,
        kind: RunKind,
        redactor: &Arc<Redactor>,
    ) -> Result<SavedPlan, AttemptError> {
        let Self {
            run,
            terraform,
            attempt,
            ..
        } = self;
        let save = || async {
            if kind == RunKind::Destroy {
                terraform.save_destroy_plan(attempt).await
            } else {
                terraform.save_plan(attempt).await
            }
        };
        let (plan, output) = retry_after_unlock(self, save).await?;
        if run.lease.asks_permission {
            self.ask_permission(&plan, &output, redactor).await?;
        } else {
            self.report_plan(&plan, &output, redactor).await;
        }
        Ok(plan)
    }

    /// Ends the attempt as interrupted after a while: the run is leased again at once, and plans again.
    async fn put_off(self) -> AttemptError {
        tokio::select! {
            () = self.attempt.stop.cancelled() => {}
            () = sleep(PUT_OFF) => {}
        }
        AttemptError::Stopped
    }

    /// Asks whether the plan may be applied; the question records the plan. Without permission the attempt ends: as
    /// interrupted, unless no further attempt gets permission.
    async fn ask_permission(
        self,
        plan: &SavedPlan,
        output: &PlanOutput,
        redactor: &Arc<Redactor>,
    ) -> Result<(), AttemptError> {
        let (run, stop) = (self.run, &self.attempt.stop);
        let (task_name, id) = (&run.lease.task_name, run.lease.run);
        let Some(content) = self.content(plan, output, redactor).await else {
            return Err(self.put_off().await);
        };
        let ask = || {
            run.shared
                .scheduler
                .permit_apply(&run.lease, content.clone())
        };
        let asked = async {
            match ask().await {
                Err(refused) if run.is_in_force_again(&refused).await => ask().await,
                answer => answer,
            }
        };
        let answer = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(AttemptError::Stopped),
            answer = asked => answer,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(status) => {
                tracing::warn!(task_name, run.id = %id, error = %CallFailure(&status), "the run goes back to the queue: no scheduler says whether its plan may be applied");
                return Err(self.put_off().await);
            }
        };
        let decision = answer.decision();
        match decision {
            PermitDecision::Permitted => Ok(()),
            PermitDecision::Rejected => Err(NotPermitted::Rejected(answer.reason).into()),
            PermitDecision::Unknown => Err(NotPermitted::UnknownEffect(answer.reason).into()),
            PermitDecision::Waits => {
                tracing::info!(task_name, run.id = %id, reason = answer.reason, "the run waits for approval");
                Err(AttemptError::Stopped)
            }
            PermitDecision::Unspecified => Err(self.put_off().await),
            PermitDecision::Unwanted => {
                tracing::info!(task_name, run.id = %id, reason = answer.reason, "the plan of the run is not applied");
                Err(AttemptError::Stopped)
            }
        }
    }
}
