//! Decisions of people about effects.

use cts_core::runs::RunKind;
use cts_core::{ApprovalDefaults, EventId, PLANS_EVERY, RunId, TaskName};
use cts_store::approval::deleted_rule;
use cts_store::cell::span_micros;
use cts_store::fields::Fields;
use cts_store::{Approval, ApprovalDecision, ApprovalError, FileRules, StoreError, rejection};
use serde_json::json;

use crate::effects::{DECIDE, READ, gone_before, shown};
use crate::repeat::{self, Repeat};
use crate::{Connection, cancel, causes, integer, sql};

/// Decides about effects that wait.
pub async fn decide(
    c: &mut dyn Connection,
    decision: &ApprovalDecision,
) -> Result<Vec<Approval>, ApprovalError> {
    let names: Vec<&str> = decision.effects.iter().map(|it| it.0.as_str()).collect();
    lock(c, &names).await?;
    let now = sql(DECIDE, "-- decide_approvals\nSELECT {now} AS value");
    let now = now.one(c, integer).await?;
    let rows: Vec<_> = (decision.effects.iter())
        .map(|(task, effect)| json!({"task": task.as_str(), "effect": effect}))
        .collect();
    let rows = serde_json::Value::from(rows).to_string();
    let open = sql(
        DECIDE,
        "-- decide_approvals: those that wait
        SELECT a.task_name FROM {rows $1 n: task TEXT, effect TEXT}
        JOIN tasks t ON t.name = n.task AND t.phase IN ('ready', 'creating', 'deleting')
        JOIN approvals a ON a.task_name = t.name AND a.incarnation = t.incarnation AND a.effect = n.effect
        WHERE (a.decision IS NULL OR a.decision = 'approved' AND $3) AND a.used_by IS NULL AND (a.gone_at IS NULL OR a.gone_at > $2)",
    );
    let rejects = decision.rejects.is_some();
    let open = open.bind(&*rows).bind(gone_before(now)).bind(rejects);
    let open = open.all(c, |row| {
        Fields::new(row, DECIDE, "approvals").parse::<TaskName>("task_name")
    });
    let open = open.await?;
    let changed = decision.effects.iter().map(|(task, _effect)| task);
    let changed: Vec<TaskName> = changed
        .filter(|task| !open.contains(task))
        .cloned()
        .collect();
    if !changed.is_empty() {
        return Err(ApprovalError::Changed(changed));
    }
    let expires = match decision.rejects {
        Some(_) => None,
        None => Some(now.saturating_add(span_micros(defaults(c).await?.expires))),
    };
    let noted = sql(
        DECIDE,
        "-- decide_approvals: note
        UPDATE approvals
        SET decision = $2, decided_by = $3, decided_at = $4, comment = $5, expires_at = $6
        FROM {rows $1 n: task TEXT, effect TEXT}
        JOIN tasks t ON t.name = n.task
        WHERE approvals.task_name = t.name AND approvals.incarnation = t.incarnation
          AND approvals.effect = n.effect",
    );
    let word = decision.rejects.map_or("approved", |_event| "rejected");
    let comment = (!decision.comment.is_empty()).then_some(&*decision.comment);
    let noted = noted.bind(&*rows).bind(word).bind(&*decision.by).bind(now);
    noted.bind(comment).bind(expires).execute(c).await?;
    if let Some(event) = decision.rejects {
        reject_waiting(c, decision, event).await?;
    }
    let due = sql(
        DECIDE,
        "-- decide_approvals: the runs wait no longer; index runs_awaits
        UPDATE runs
        SET awaits = NULL, due_at = CASE WHEN $3 THEN due_at ELSE $2 END, updated_at = $2
        FROM {rows $1 n: task TEXT, effect TEXT}
        JOIN approvals a ON a.task_name = n.task AND a.effect = n.effect
        WHERE runs.task_name = n.task AND runs.awaits = n.effect AND runs.incarnation = a.incarnation
          AND runs.status IN ('queued', 'running') AND a.gone_at IS NULL",
    );
    let due = due.bind(&*rows).bind(now);
    due.bind(rejects).execute(c).await?;
    if !rejects {
        plan_now(c, &rows, now).await?;
    }
    let decided = sql(
        DECIDE,
        concat!(
            "-- decide_approvals: the effects\nSELECT ",
            shown!(),
            "
        FROM {rows $1 n: task TEXT, effect TEXT}
        JOIN tasks t ON t.name = n.task
        JOIN approvals a ON a.task_name = t.name AND a.incarnation = t.incarnation AND a.effect = n.effect
        ORDER BY a.task_name"
        ),
    );
    Ok(decided.bind(&*rows).all(c, Approval::read).await?)
}

/// Makes runs due whose newer input only waits for the next plan of the task: the approved effect may be theirs.
async fn plan_now(c: &mut dyn Connection, rows: &str, now: i64) -> Result<(), StoreError> {
    let due = sql(
        DECIDE,
        "-- decide_approvals: plans are put off no longer; index runs_waiting
        UPDATE runs SET due_at = $2, updated_at = $2
        FROM {rows $1 n: task TEXT, effect TEXT}
        JOIN approvals a ON a.task_name = n.task AND a.effect = n.effect
        WHERE runs.task_name = n.task AND runs.incarnation = a.incarnation AND runs.status = 'queued'
          AND runs.kind = 'apply' AND runs.awaits IS NULL AND runs.attempts = 0
          AND runs.due_at > $2 AND runs.due_at <= a.planned_at + $3",
    );
    let due = due.bind(rows).bind(now);
    due.bind(PLANS_EVERY).execute(c).await?;
    Ok(())
}

/// Ends the queued run that waits for the rejected effect; a destruction is suspended.
async fn reject_waiting(
    c: &mut dyn Connection,
    decision: &ApprovalDecision,
    event: EventId,
) -> Result<(), ApprovalError> {
    let [(task, effect)] = &*decision.effects else {
        return Err(ApprovalError::of("one effect is rejected at a time"));
    };
    let waiting = sql(
        DECIDE,
        "-- decide_approvals: the run that waits; index runs_awaits
        SELECT id FROM runs WHERE task_name = $1 AND awaits = $2 AND status IS NOT DISTINCT FROM 'queued'",
    );
    let waiting = waiting
        .bind(task)
        .bind(&**effect)
        .optional(c, |row| Fields::new(row, DECIDE, "runs").id("id"));
    if let Some(run) = waiting.await? {
        let why = rejection(&decision.by, &decision.comment);
        cancel::reject(c, run, event, &why).await?;
    }
    Ok(())
}

/// Forgets rejections of a task, and queues a run with the newest rejected input, unless the data need it no longer.
pub async fn reopen(
    c: &mut dyn Connection,
    task: &TaskName,
    run: RunId,
) -> Result<u32, StoreError> {
    lock(c, &[task.as_str()]).await?;
    let rejected = sql(
        DECIDE,
        "-- reopen_approvals
        SELECT a.run_id,
               a.gone_at IS NULL AND t.enabled AND t.phase = 'ready' AND NOT EXISTS (
                   SELECT 1 FROM runs r WHERE r.task_name = t.name AND r.kind = 'apply'
                     AND r.status IN ('queued', 'running')) AS may_run
        FROM approvals a JOIN tasks t ON t.name = a.task_name AND t.incarnation = a.incarnation
        WHERE a.task_name = $1 AND a.decision = 'rejected'
        ORDER BY a.gone_at IS NOT NULL, a.planned_at DESC",
    );
    let rejected = rejected.bind(task).all(c, |row| {
        let row = Fields::new(row, DECIDE, "approvals");
        Ok((row.id::<RunId>("run_id")?, row.flag("may_run")?))
    });
    let rejected = rejected.await?;
    let Some(&(newest, may_run)) = rejected.first() else {
        return Ok(0);
    };
    for statement in [
        "-- reopen_approvals: the input is no longer withheld
        UPDATE tasks SET cancelled_input = NULL
        WHERE name = $1 AND cancelled_input IN (
            SELECT a.input_hash FROM approvals a WHERE a.task_name = $1 AND a.decision = 'rejected')",
        "-- reopen_approvals: forget\nDELETE FROM approvals WHERE task_name = $1 AND decision = 'rejected'",
    ] {
        sql(DECIDE, statement).bind(task).execute(c).await?;
    }
    if may_run {
        let again = Repeat {
            id: run,
            kind: RunKind::Apply,
            due_at: None,
            cause: None,
        };
        repeat::queue(c, newest, again).await?;
        causes::pass_on(c, newest).await?;
    }
    Ok(u32::try_from(rejected.len()).unwrap_or(u32::MAX))
}

async fn lock(c: &mut dyn Connection, tasks: &[&str]) -> Result<(), StoreError> {
    let locked = sql(
        DECIDE,
        "-- decide_approvals, reopen_approvals: the tasks, in order
        SELECT FROM tasks WHERE name {in $1} ORDER BY name FOR NO KEY UPDATE",
    );
    locked.bind(tasks).on_postgres(c).await
}

/// The rules of the files that are in force for a task, or for all tasks.
pub async fn file_rules(
    c: &mut dyn Connection,
    task: Option<&TaskName>,
) -> Result<FileRules, StoreError> {
    let deleted = match task {
        Some(task) => sql(
            READ,
            "-- file_rules: of one task; index deleted_tasks_pkey
            SELECT name, approval FROM deleted_tasks WHERE approval IS NOT NULL AND name = $1",
        )
        .bind(task),
        None => sql(
            READ,
            "-- file_rules\nSELECT name, approval FROM deleted_tasks WHERE approval IS NOT NULL",
        ),
    };
    let deleted = deleted.all(c, deleted_rule).await?;
    Ok(FileRules {
        defaults: defaults(c).await?,
        deleted: deleted.into_iter().collect(),
    })
}

/// Rule and time for tasks without their own.
pub(crate) async fn defaults(c: &mut dyn Connection) -> Result<ApprovalDefaults, StoreError> {
    let defaults = sql(
        READ,
        "-- decide_approvals, file_rules, change_task: the setting
        SELECT approvals FROM configuration_in_force WHERE approvals_number = number",
    );
    let defaults = defaults.optional(c, |row| {
        Fields::new(row, READ, "configuration_in_force").json_if_any("approvals")
    });
    Ok(defaults.await?.flatten().unwrap_or_default())
}
