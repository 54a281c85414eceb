//! Effects that inspections have shown: the rule for them, and consent that comes with a change of their task.

use cts_core::{ApprovalRule, TaskName};
use cts_store::approval::read_rule;
use cts_store::cell::{encoded, span_micros};
use cts_store::{ShownEffect, StoreError};

use crate::approval_decisions::defaults;
use crate::effects::{DECIDE, READ, rule_in_force};
use crate::{Connection, sql};

/// The rule in force for a task.
pub async fn rule(
    c: &mut dyn Connection,
    task: &TaskName,
) -> Result<Option<ApprovalRule>, StoreError> {
    let rule = sql(
        READ,
        concat!(
            "-- approval_rule; index tasks_pkey\nSELECT t.spec, ",
            rule_in_force!(),
            " FROM tasks t WHERE t.name = $1"
        ),
    );
    rule.bind(task).optional(c, read_rule).await
}

/// Approves an effect that an inspection of the task has shown; `false` if the inspection is not known any more or is of
/// an earlier task, if the task was applied since, or if the effect is rejected.
pub(crate) async fn approve(
    c: &mut dyn Connection,
    task: &TaskName,
    shown: &ShownEffect,
) -> Result<bool, StoreError> {
    let expires = span_micros(defaults(c).await?.expires);
    let approved = sql(
        DECIDE,
        "-- change_task: consent to the effect of an inspection; indexes runs_pkey, plans_pkey
        INSERT INTO approvals (
            task_name, incarnation, effect, run_id, input_hash, summary, plan, asked_at, planned_at, decision,
            decided_by, decided_at, expires_at)
        SELECT r.task_name, r.incarnation, $3, r.id, r.input_hash, $4, p.content, {now}, {now}, 'approved',
               $5, {now}, {now} + $6
        FROM runs r
        JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
        JOIN plans p ON p.run_id = r.id
        WHERE r.id = $1 AND r.task_name = $2 AND NOT EXISTS (
            SELECT 1 FROM runs d
            WHERE d.task_name = r.task_name AND d.kind = 'apply' AND d.status IN ('succeeded', 'failed')
              AND d.finished_at >= r.finished_at)
        ON CONFLICT (task_name, incarnation, effect) DO UPDATE
        SET run_id = CASE WHEN approvals.used_by IS NULL THEN approvals.run_id ELSE excluded.run_id END,
            input_hash = CASE WHEN approvals.used_by IS NULL THEN approvals.input_hash ELSE excluded.input_hash END,
            summary = excluded.summary, plan = excluded.plan, planned_at = excluded.planned_at, gone_at = NULL, decision = excluded.decision,
            decided_by = excluded.decided_by, decided_at = excluded.decided_at, comment = NULL,
            expires_at = excluded.expires_at, used_by = NULL, used_input = NULL
        WHERE approvals.decision IS DISTINCT FROM 'rejected' AND NOT EXISTS (
            SELECT 1 FROM runs u WHERE u.id = approvals.used_by AND u.status IN ('queued', 'running'))",
    );
    let approved = approved
        .bind(shown.inspection)
        .bind(task)
        .bind(&*shown.effect)
        .bind(encoded(DECIDE, &shown.summary)?)
        .bind(&*shown.by)
        .bind(expires);
    if approved.execute(c).await? == 0 {
        return Ok(false);
    }
    let due = sql(
        DECIDE,
        "-- change_task: the run waits no longer; index runs_awaits
        UPDATE runs SET awaits = NULL, due_at = {now}, updated_at = {now}
        WHERE task_name = $1 AND awaits = $2 AND status IN ('queued', 'running')",
    );
    due.bind(task).bind(&*shown.effect).execute(c).await?;
    Ok(true)
}
