//! The apply of a task with `plan = "saved"`: its plan, the wait for its condition, and the apply of that
//! very plan (docs/runs.md#saved-plans).

use cts_terraform::{Attempt, PlanOutput};

use crate::attempt::AttemptError;
use crate::gate::{GatedPlan, PendingApproval};
use crate::leased_run::LeasedRun;
use crate::own_lock::retry_after_unlock;
use crate::watched::AttemptReport;

/// Plans, waits and applies.
pub(crate) async fn apply_saved(
    run: &LeasedRun,
    attempt: &Attempt,
    watched: &AttemptReport,
) -> Result<(), AttemptError> {
    let terraform = &run.shared.terraform;
    let saved = retry_after_unlock(run, attempt, || terraform.save_plan(attempt)).await?;
    let (mut plan, output) = saved;
    let awaited = awaited(run, &output, watched);
    // The text of the plan may be long, and so may the wait.
    drop(output);
    if let Some(awaited) = awaited {
        plan.hold()?;
        run.wait(&attempt.stop, &*awaited).await?;
        plan.write_back()?;
    }
    retry_after_unlock(run, attempt, || terraform.apply_saved(attempt, &plan)).await
}

/// The condition that the plan waits for; `None` if the plan changes nothing or need not wait.
fn awaited(
    run: &LeasedRun,
    output: &PlanOutput,
    watched: &AttemptReport,
) -> Option<Box<dyn PendingApproval>> {
    let gate = run.shared.gate.as_ref()?;
    if !output.changes_present {
        return None;
    }
    let text = watched.redactor.redact(&output.text);
    gate.awaited(&GatedPlan {
        run: run.lease.run,
        task: &run.lease.task_name,
        text: &text,
        resources: watched.planned(),
    })
}
