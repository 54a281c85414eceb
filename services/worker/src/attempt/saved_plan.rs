//! The apply of a task with `plan = "saved"`: its plan, which is reported, the wait for its condition, and the apply of that
//! very plan (docs/runs.md#saved-plans).

use cts_terraform::PlanOutput;

use crate::attempt::local_run::LocalRun;
use crate::attempt::own_lock::retry_after_unlock;
use crate::gate::{GatedPlan, PendingApproval};
use crate::leased_run::LeasedRun;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::attempt_report::AttemptReport;

/// Plans, waits and applies.
pub(crate) async fn apply_saved(
    here: LocalRun<'_>,
    findings: &AttemptReport,
) -> Result<(), AttemptError> {
    let LocalRun {
        run,
        terraform,
        attempt,
    } = here;
    let saved = retry_after_unlock(here, || terraform.save_plan(attempt)).await?;
    let (mut plan, output) = saved;
    here.report_plan(&plan, &output, &findings.redactor).await;
    let awaited = awaited(run, &output, findings);
    // The text of the plan may be long, and so may the wait.
    drop(output);
    if let Some(awaited) = awaited {
        plan.take_from_disk()?;
        run.wait(&attempt.stop, &*awaited).await?;
        plan.write_back()?;
    }
    retry_after_unlock(here, || terraform.apply_saved(attempt, &plan)).await
}

/// The condition that the plan waits for; `None` if the plan changes nothing or need not wait.
fn awaited(
    run: &LeasedRun,
    output: &PlanOutput,
    findings: &AttemptReport,
) -> Option<Box<dyn PendingApproval>> {
    let gate = run.shared.gate.as_ref()?;
    if !output.changes_present {
        return None;
    }
    let text = findings.redactor.redact(&output.text);
    gate.awaited(&GatedPlan {
        run: run.lease.run,
        task: &run.lease.task_name,
        text: &text,
        resources: findings.planned(),
    })
}
