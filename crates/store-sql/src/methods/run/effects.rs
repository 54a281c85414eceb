//! Effects that the data of their task need no longer, and effects that are withdrawn.

use cts_core::{Digest, GONE_FOR, RunId};
use cts_store::approval::needs_no_consent;
use cts_store::cell::span_micros;
use cts_store::{Approval, StoreError};
use serde_json::json;

use crate::{Connection, integer, sql, text};

pub(crate) const DECIDE: &str = "decide about an effect";

pub(crate) const READ: &str = "read effects that need consent";

/// Columns of the rule in force for a task `t`, beside its `spec`.
macro_rules! rule_in_force {
    () => {
        "(SELECT f.approvals FROM configuration_in_force f WHERE f.approvals_number = f.number) AS defaults,
               (SELECT d.approval FROM deleted_tasks d WHERE d.name = t.name) AS deleted_rule"
    };
}
pub(crate) use rule_in_force;

/// Columns for [`Approval::read`].
macro_rules! shown {
    () => {
        "a.task_name, a.effect, a.run_id, a.summary, a.asked_at, a.gone_at, a.decision, a.decided_by, a.decided_at,
               a.comment, a.expires_at, a.used_input,
               (SELECT c.requested_by FROM runs c WHERE c.id = a.run_id) AS requested_by,
               (SELECT c.cause FROM runs c WHERE c.id = a.run_id) AS cause"
    };
}
pub(crate) use shown;

/// Condition that an effect `a` waits for a decision, and no run of its task exists that could wait for it.
macro_rules! has_no_run {
    () => {
        "a.gone_at IS NULL AND a.used_by IS NULL AND a.decision IS NULL AND NOT EXISTS (
            SELECT 1 FROM runs r
            WHERE r.task_name = a.task_name AND coalesce(r.destroys, r.kind) = 'apply'
              AND r.status IN ('queued', 'running'))"
    };
}

/// Condition that the effect for which a run waits is not known.
macro_rules! has_no_effect {
    ($run:literal) => {
        concat!(
            "NOT EXISTS (
            SELECT 1 FROM approvals a
            WHERE a.task_name = ",
            $run,
            ".task_name AND a.incarnation = ",
            $run,
            ".incarnation AND a.effect = ",
            $run,
            ".awaits)"
        )
    };
}

/// Condition that the consent to an effect `a` was used, and that no further attempt has the consent.
macro_rules! is_used_up {
    ($now:literal) => {
        concat!(
            "a.used_by IS NOT NULL AND (a.expires_at <= ",
            $now,
            " OR NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.id = a.used_by AND r.status IN ('queued', 'running')))"
        )
    };
}

/// Withdraws effects that are gone for too long, and forgets consents that have expired or were used.
pub async fn withdraw_gone(c: &mut dyn Connection) -> Result<Vec<Approval>, StoreError> {
    let any = sql(
        READ,
        "-- withdraw_gone; index runs_awaits
        SELECT {now} AS value
        WHERE EXISTS (SELECT 1 FROM approvals)
           OR EXISTS (SELECT 1 FROM runs WHERE awaits IS NOT NULL AND status IN ('queued', 'running'))",
    );
    let Some(now) = any.optional(c, integer).await? else {
        return Ok(Vec::new());
    };
    let names = due(c, now).await?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let tasks = sql(
        DECIDE,
        "-- withdraw_gone: the tasks, in order
        SELECT 1 FROM tasks WHERE name {in $1} ORDER BY name FOR NO KEY UPDATE",
    );
    tasks.bind(&*names).on_postgres(c).await?;
    let gone = sql(
        READ,
        concat!(
            "-- withdraw_gone: those that are gone\nSELECT ",
            shown!(),
            " FROM approvals a
        WHERE a.task_name {in $2} AND a.gone_at <= $1 AND a.used_by IS NULL ORDER BY a.task_name, a.effect"
        ),
    );
    let gone = gone.bind(gone_before(now)).bind(&*names);
    let gone = gone.all(c, Approval::read).await?;
    for statement in [
        concat!(
            "-- withdraw_gone: effects without a run; indexes runs_waiting, runs_one_running
        UPDATE approvals AS a SET gone_at = $2
        WHERE a.task_name {in $3} AND $1 IS NOT NULL AND ",
            has_no_run!()
        ),
        "-- withdraw_gone: their runs; index runs_awaits
        UPDATE runs SET status = 'cancelled', finished_at = $2, updated_at = $2
        FROM approvals a
        WHERE a.task_name {in $3} AND runs.status IS NOT DISTINCT FROM 'queued' AND runs.awaits = a.effect
          AND runs.task_name = a.task_name AND runs.incarnation = a.incarnation
          AND a.gone_at <= $1 AND a.used_by IS NULL",
        "-- withdraw_gone: rejected inputs are no longer withheld
        UPDATE tasks SET cancelled_input = NULL
        WHERE $2 IS NOT NULL AND name {in $3} AND cancelled_input IN (
            SELECT a.input_hash FROM approvals a
            WHERE a.task_name = tasks.name AND a.decision = 'rejected' AND a.gone_at <= $1)",
        "-- withdraw_gone: withdraw
        DELETE FROM approvals
        WHERE task_name {in $3} AND gone_at <= $1 AND used_by IS NULL AND $2 IS NOT NULL",
        "-- withdraw_gone: consents that have expired are asked for anew
        UPDATE approvals
        SET decision = NULL, decided_by = NULL, decided_at = NULL, comment = NULL, expires_at = NULL, asked_at = $2
        WHERE task_name {in $3} AND decision = 'approved' AND used_by IS NULL AND expires_at <= $2
          AND $1 IS NOT NULL",
        concat!(
            "-- withdraw_gone: consents that were used; index runs_pkey
        DELETE FROM approvals AS a WHERE a.task_name {in $3} AND $1 IS NOT NULL AND ",
            is_used_up!("$2")
        ),
        concat!(
            "-- withdraw_gone: runs that wait for an unknown effect ask again; index runs_awaits
        UPDATE runs SET awaits = NULL, due_at = $2, updated_at = $2
        WHERE task_name {in $3} AND awaits IS NOT NULL AND status IS NOT DISTINCT FROM 'queued'
          AND $1 IS NOT NULL AND ",
            has_no_effect!("runs")
        ),
    ] {
        let done = sql(DECIDE, statement).bind(gone_before(now)).bind(now);
        done.bind(&*names).execute(c).await?;
    }
    Ok(gone)
}

/// Names of the tasks with effects that [`withdraw_gone`] changes, and with runs that wait for an unknown effect.
async fn due(c: &mut dyn Connection, now: i64) -> Result<Vec<String>, StoreError> {
    let names = sql(
        READ,
        concat!(
            "-- withdraw_gone: tasks with something to do; indexes runs_waiting, runs_one_running, runs_pkey
        SELECT DISTINCT a.task_name AS value FROM approvals a
        WHERE a.gone_at <= $1 AND a.used_by IS NULL
           OR a.decision = 'approved' AND a.used_by IS NULL AND a.expires_at <= $2
           OR ",
            is_used_up!("$2"),
            " OR ",
            has_no_run!(),
            "
        UNION
        SELECT r.task_name FROM runs r
        WHERE r.awaits IS NOT NULL AND r.status = 'queued' AND ",
            has_no_effect!("r"),
            " ORDER BY 1"
        ),
    );
    names.bind(gone_before(now)).bind(now).all(c, text).await
}

/// Withdraws effects of tasks that wait or are approved. Rejections stay.
pub(crate) async fn withdraw_of(c: &mut dyn Connection, tasks: &[&str]) -> Result<(), StoreError> {
    let withdrawn = sql(
        DECIDE,
        "-- cancel_run, complete, change_task, replace_config_tasks: withdraw consents
        DELETE FROM approvals
        WHERE task_name {in $1} AND used_by IS NULL AND decision IS DISTINCT FROM 'rejected'",
    );
    withdrawn.bind(tasks).execute(c).await?;
    Ok(())
}

/// Forgets the effects of a task, also used ones: its destruction is suspended or goes on, or the task goes on with another
/// state. Rejections stay if a destruction does not go on.
pub(crate) async fn forget_used(
    c: &mut dyn Connection,
    task: &str,
    keeps_rejections: bool,
) -> Result<(), StoreError> {
    let ended = sql(
        DECIDE,
        "-- cancel_run, complete, delete_task, decide_terraform_state: no consent, also no used one
        DELETE FROM approvals
        WHERE task_name = $1 AND (decision IS DISTINCT FROM 'rejected' OR NOT $2)",
    );
    ended.bind(task).bind(keeps_rejections).execute(c).await?;
    Ok(())
}

/// Forgets all effects of tasks that are not in use, also rejected ones: what a deletion destroys is another effect.
pub(crate) async fn forget_of(c: &mut dyn Connection, tasks: &[&str]) -> Result<(), StoreError> {
    let forgotten = sql(
        DECIDE,
        "-- delete_task: forget consents
        DELETE FROM approvals WHERE task_name {in $1} AND used_by IS NULL",
    );
    forgotten.bind(tasks).execute(c).await?;
    Ok(())
}

/// Ends the use of consents by runs that have another input now.
pub(crate) async fn end_use(c: &mut dyn Connection, runs: &[RunId]) -> Result<(), StoreError> {
    if runs.is_empty() {
        return Ok(());
    }
    let ended = sql(
        DECIDE,
        "-- enqueue: another input has no consent; index approvals_run
        DELETE FROM approvals
        WHERE run_id {in $1} AND used_by IS NOT NULL AND used_input IS DISTINCT FROM (
            SELECT r.input_hash FROM runs r WHERE r.id = approvals.run_id)",
    );
    ended.bind(runs).execute(c).await?;
    Ok(())
}

/// Makes runs of this task, or of all tasks, due whose effect needs no consent by the rules that are in force now.
pub(crate) async fn ask_again(
    c: &mut dyn Connection,
    task: Option<&str>,
) -> Result<(), StoreError> {
    let waiting = sql(
        READ,
        concat!(
            "-- replace_config_tasks, change_task: effects that wait; index runs_awaits
        SELECT r.id, r.task_name, t.spec, a.summary, ",
            rule_in_force!(),
            "
        FROM runs r
        JOIN tasks t ON t.name = r.task_name
        JOIN approvals a ON a.task_name = r.task_name AND a.incarnation = r.incarnation AND a.effect = r.awaits
        WHERE r.awaits IS NOT NULL AND r.status = 'queued' AND a.gone_at IS NULL
          AND (CAST($1 AS TEXT) IS NULL OR r.task_name = $1)"
        ),
    );
    let runs = waiting.bind(task).all(c, needs_no_consent).await?;
    let runs: Vec<RunId> = runs.into_iter().flatten().collect();
    if runs.is_empty() {
        return Ok(());
    }
    let again = sql(
        DECIDE,
        "-- replace_config_tasks, change_task: they are asked for again
        UPDATE runs SET awaits = NULL, due_at = {now}, updated_at = {now}
        WHERE id {in $1} AND status IS NOT DISTINCT FROM 'queued'",
    );
    again.bind(&*runs).execute(c).await?;
    Ok(())
}

/// Passes the consent that a run has used on to the run that tries its input again.
pub(crate) async fn pass_on(
    c: &mut dyn Connection,
    run: RunId,
    retry: RunId,
) -> Result<(), StoreError> {
    let passed = sql(
        DECIDE,
        "-- complete: the retry has the consent; index approvals_run
        UPDATE approvals SET used_by = $2, run_id = $2 WHERE run_id = $1 AND used_by = $1",
    );
    passed.bind(run).bind(retry).execute(c).await?;
    Ok(())
}

/// Notes for these tasks that their data need no effect now, or for these inputs that they are needed again.
pub(crate) async fn note_gone(
    c: &mut dyn Connection,
    (gone, back): (&[&str], &[(&str, Digest)]),
    now: i64,
) -> Result<(), StoreError> {
    if !gone.is_empty() {
        let noted = sql(
            DECIDE,
            "-- enqueue: effects that are gone
            UPDATE approvals SET gone_at = $2
            WHERE task_name {in $1} AND gone_at IS NULL AND used_by IS NULL",
        );
        noted.bind(gone).bind(now).execute(c).await?;
    }
    if back.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = (back.iter())
        .map(|(task, input)| json!({"task": task, "input": input.to_string()}))
        .collect();
    let rows = serde_json::Value::from(rows).to_string();
    for statement in [
        "-- enqueue: effects that are needed again
        UPDATE approvals
        SET gone_at = NULL,
            decision = CASE WHEN gone_at <= $3 AND decision = 'approved' THEN NULL ELSE decision END,
            asked_at = CASE WHEN gone_at <= $3 AND decision IS DISTINCT FROM 'rejected' THEN $2 ELSE asked_at END
        FROM {rows $1 n: task TEXT, input TEXT}
        WHERE approvals.task_name = n.task AND approvals.input_hash = n.input AND approvals.gone_at IS NOT NULL
          AND approvals.used_by IS NULL",
        "-- enqueue: their runs, if they were approved meanwhile; index runs_awaits
        UPDATE runs SET awaits = NULL, due_at = $2, updated_at = $2
        FROM {rows $1 n: task TEXT, input TEXT}
        JOIN approvals a ON a.task_name = n.task
        WHERE runs.task_name = n.task AND runs.awaits = a.effect AND runs.incarnation = a.incarnation
          AND runs.status IS NOT DISTINCT FROM 'queued' AND runs.input_hash = n.input
          AND a.decision = 'approved' AND a.gone_at IS NULL AND a.expires_at > $2 AND $3 IS NOT NULL",
    ] {
        let done = sql(DECIDE, statement).bind(&*rows).bind(now);
        done.bind(gone_before(now)).execute(c).await?;
    }
    Ok(())
}

/// Effects that are gone since then or earlier are withdrawn.
pub(crate) fn gone_before(now: i64) -> i64 {
    now.saturating_sub(span_micros(GONE_FOR))
}
