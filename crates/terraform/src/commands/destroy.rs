//! The destruction of the resources of a task, and its plan.

use semver::Version;

use crate::attempt::Attempt;
use crate::commands::saved_plan::SavedPlan;
use crate::commands::terraform::{PlanOutput, Terraform};
use crate::error::CommandError;
use crate::step::Step;

/// First version whose `apply` can destroy. Earlier versions have a separate command with the same arguments.
const APPLY_DESTROYS_SINCE: Version = Version::new(0, 15, 2);

const DESTROY: &str = "-destroy";

impl Terraform {
    /// Runs `terraform apply -destroy` in the workspace of the task: everything in its state is destroyed.
    /// The workspace stays.
    ///
    /// Behaves as [`Terraform::apply`] otherwise.
    pub async fn destroy(&self, attempt: &Attempt) -> Result<(), CommandError> {
        let mut arguments = self.arguments(Step::Apply);
        if *self.executable().version() >= APPLY_DESTROYS_SINCE {
            arguments.push(DESTROY.to_owned());
        } else if let Some(command) = arguments.first_mut() {
            "destroy".clone_into(command);
        }
        self.apply_with(attempt, arguments).await
    }

    /// Runs `terraform plan -destroy`: the plan of [`Terraform::destroy`].
    ///
    /// Behaves as [`Terraform::plan`] otherwise.
    pub async fn plan_destroy(&self, attempt: &Attempt) -> Result<PlanOutput, CommandError> {
        self.plan_with(attempt, self.plan_destroy_arguments()).await
    }

    /// Runs `terraform plan -destroy` and keeps the plan, as [`Terraform::save_plan`] does.
    ///
    /// # Cancellation
    /// Like [`Terraform::plan`].
    pub async fn save_destroy_plan(
        &self,
        attempt: &Attempt,
    ) -> Result<(SavedPlan, PlanOutput), CommandError> {
        self.save_plan_with(attempt, self.plan_destroy_arguments())
            .await
    }

    fn plan_destroy_arguments(&self) -> Vec<String> {
        let mut arguments = self.arguments(Step::Plan);
        arguments.push(DESTROY.to_owned());
        arguments
    }
}
