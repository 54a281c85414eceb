//! Outputs of the module, after an apply (docs/runs.md#outputs).

use cts_core::{Chain, TaskDefinition};
use cts_proto::run::v1::RunOutput;
use cts_terraform::{Attempt, Report, Terraform, run_outputs};

/// The outputs that the task wants. If they cannot be read, the apply still counts: a warning is logged, and
/// the result is empty.
pub(crate) async fn outputs_of(
    terraform: &Terraform,
    attempt: &Attempt,
    definition: &TaskDefinition,
    report: &Report,
) -> Vec<RunOutput> {
    let names = &definition.outputs;
    if names.is_empty() {
        return Vec::new();
    }
    let told = match report.outputs() {
        Some(told) => Ok(told),
        None => terraform.outputs(attempt).await,
    };
    match told {
        Ok(told) => run_outputs(names, told),
        Err(error) => {
            tracing::warn!(task_name = %attempt.task, error = %Chain(&error), "the outputs of the module cannot be read");
            Vec::new()
        }
    }
}
