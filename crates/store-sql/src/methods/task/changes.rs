//! Tasks created, changed and deleted over the API.

use cts_core::runs::RunKind;
use cts_core::{ApprovalRule, RunId, TaskName, TaskOrigin, TaskPhase, TaskSpec, Withdrawal};
use cts_store::configured::declaration;
use cts_store::fields::Fields;
use cts_store::{
    DELETED, DRAFTS_KEPT, Deletion, NewTask, StoreError, StoredTask, TaskChange, TaskError,
};

use crate::{
    Connection, cancel, current_task, destruction, effects, endings, requests, shown_effects, sql,
    tasks, terraform_states,
};

/// Begins to create a task and requests its run.
pub async fn create(c: &mut dyn Connection, task: &NewTask) -> Result<(), TaskError> {
    let name = task.spec.name();
    // A different call may take the name between the two statements.
    loop {
        make_way(c, name).await?;
        if tasks::insert_draft(c, task).await? {
            break;
        }
    }
    Ok(requests::insert(c, name, (task.run, task.kind), None).await?)
}

/// Removes a draft without a waiting caller, so that it does not block the name.
async fn make_way(c: &mut dyn Connection, name: &TaskName) -> Result<(), TaskError> {
    let lock = c.dialect().pick("", "FOR UPDATE");
    let other = sql(
        "create a task",
        format!(
            "-- create_task: what has the name
            SELECT name, phase, creation_run, updated_at <= {{now}} - $2 AS is_old
            FROM tasks WHERE name = $1 {lock}"
        ),
    );
    let other = other.bind(name).bind(DRAFTS_KEPT).optional(c, |row| {
        let row = Fields::new(row, "create a task", "tasks").keyed("name")?;
        let run: Option<RunId> = row.id_under("creation_run", "creation_run")?;
        Ok((row.phase("phase")?, row.flag("is_old")?, run))
    });
    match other.await? {
        None => Ok(()),
        Some((phase, _, _)) if phase.is_visible() => Err(TaskError::Exists),
        Some((TaskPhase::Discarded, true, _)) => Ok(tasks::remove(c, &[name.as_str()]).await?),
        Some((_, _, run)) => Err(TaskError::BeingCreated {
            run: run.ok_or(TaskError::Exists)?,
        }),
    }
}

/// Changes a visible task, and returns it after the change.
pub async fn change(
    c: &mut dyn Connection,
    name: &TaskName,
    change: &TaskChange,
) -> Result<StoredTask, TaskError> {
    let current = current_task::current(c, name).await?;
    if let Some((run, _)) = change.request
        && requests::is_known(c, run).await?
    {
        return Ok(current.task);
    }
    requests::refuse_known(c, name, change.key).await?;
    if let Some((_, RunKind::Apply)) = change.request
        && let Some(reason) = terraform_states::refusal(c, name).await?
    {
        return Err(TaskError::StateRefused { reason });
    }
    let mut changed = current.task.clone();
    let spec = change.accepted(&current.task, current.activity)?;
    if spec != current.task.spec {
        changed.revision = current.task.revision.saturating_add(1);
        tasks::write_spec(c, &spec, changed.revision).await?;
    }
    if let Some(why) = change.withdrawal(&current.task.spec, &spec) {
        withdraw_applies(c, &[(name.as_str(), why)], change.reason()).await?;
    }
    if spec.api_approval != current.task.spec.api_approval {
        effects::ask_again(c, Some(name.as_str())).await?;
    }
    if let Some(request) = change.request {
        let accompanies = change.accompanied();
        requests::insert(c, name, request, accompanies.as_ref()).await?;
        if let Some(accompanied) = accompanies {
            requests::owe(c, name, accompanied.occasion).await?;
        }
    }
    if let Some(shown) = &change.approve
        && !shown_effects::approve(c, name, shown).await?
    {
        return Err(TaskError::NotShown);
    }
    changed.spec = spec;
    Ok(changed)
}

/// Withdraws the applies of tasks whose declaration has changed, over the API or in a file: queued applies are
/// cancelled, a running apply goes on without a further attempt.
///
/// Requests are refused with this `reason`.
pub(crate) async fn withdraw_applies(
    c: &mut dyn Connection,
    tasks: &[(&str, Withdrawal)],
    reason: &str,
) -> Result<(), StoreError> {
    if tasks.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = tasks.iter().map(|(name, _)| *name).collect();
    let (of_disabled, reason_to_end) = (endings::OF_DISABLED, endings::Reason::Withdrawn);
    endings::begin(c, (of_disabled, &names), reason_to_end).await?;
    let others = tasks
        .iter()
        .filter(|(_, why)| *why == Withdrawal::OtherDefinition);
    let others: Vec<&str> = others.map(|(name, _)| *name).collect();
    for (statement, names) in [
        (
            "-- change_task, replace_config_tasks: cancel; index runs_waiting
            UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
            WHERE task_name {in $1} AND status = 'queued' AND kind = 'apply'
              AND NOT (withdrawn AND cancel_requested_at IS NOT NULL)",
            &names,
        ),
        (
            "-- change_task, replace_config_tasks: withdraw; index runs_one_running
            UPDATE runs SET withdrawn = TRUE
            WHERE task_name {in $1} AND status = 'running' AND kind = 'apply'",
            &names,
        ),
        (
            "-- change_task, replace_config_tasks: another definition
            UPDATE tasks SET failures = 0 WHERE name {in $1}",
            &others,
        ),
    ] {
        let withdrawn = sql("withdraw what is to be applied", statement);
        withdrawn.bind(names.as_slice()).execute(c).await?;
    }
    effects::withdraw_of(c, &names).await?;
    requests::refuse_all(c, &names, Some(RunKind::Apply), reason).await
}

/// Deletes a visible task. Returns whether the task is already removed.
pub async fn delete(
    c: &mut dyn Connection,
    name: &TaskName,
    deletion: Deletion,
) -> Result<bool, TaskError> {
    let current = current_task::current(c, name).await?;
    let running = current.activity.is_leased();
    let is_deleting = current.task.phase == TaskPhase::Deleting;
    if deletion != Deletion::Retain && current.task.destruction_suspended {
        cancel::continue_destruction(c, name.as_str()).await?;
    }
    if is_deleting && (deletion != Deletion::Retain || current.task.destroy_run.is_none()) {
        return Ok(false);
    }
    if !is_deleting && current.task.origin == TaskOrigin::Config {
        remember(c, &current.task.spec, current.configured).await?;
    }
    let name = name.as_str();
    let ending =
        endings::begin(c, (endings::OF_TASKS, &[name]), endings::Reason::Withdrawn).await?;
    let running = running || !ending.is_empty();
    match deletion.destroy_run(&current.task) {
        Some(run) => {
            begin_deletions(c, &[name], Some(run)).await?;
            Ok(!running && !destruction::begin(c, name, run).await?)
        }
        None if running => {
            begin_deletions(c, &[name], None).await?;
            Ok(false)
        }
        None => {
            tasks::remove(c, &[name]).await?;
            Ok(true)
        }
    }
}

/// Begins deletions: a task with a running run is removed when the run has ended and the given run, if any, has
/// destroyed its infrastructure.
///
/// The caller has locked the tasks, and has let their queued runs with a remote run end.
pub(crate) async fn begin_deletions(
    c: &mut dyn Connection,
    names: &[&str],
    destroy_run: Option<RunId>,
) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let cancelled = sql(
        "delete tasks",
        "-- tasks are being deleted: queued runs; index runs_waiting
        UPDATE runs SET status = 'cancelled', finished_at = {now}, updated_at = {now}
        WHERE task_name {in $1} AND status = 'queued'
          AND NOT (withdrawn AND cancel_requested_at IS NOT NULL)",
    );
    cancelled.bind(names).execute(c).await?;
    let deleting = sql(
        "delete tasks",
        "-- tasks are being deleted
        UPDATE tasks
        SET phase = 'deleting', creation = NULL, creation_run = NULL, destroy_run = $2,
            destruction_suspended_at = NULL, updated_at = {now}
        WHERE name {in $1}",
    );
    deleting.bind(names).bind(destroy_run).execute(c).await?;
    effects::forget_of(c, names).await?;
    requests::refuse_all(c, names, None, DELETED).await
}

/// Records the deletion, so that the configuration does not create the task again.
async fn remember(
    c: &mut dyn Connection,
    task: &TaskSpec,
    configured: Option<String>,
) -> Result<(), StoreError> {
    let configured = match configured {
        Some(configured) => configured,
        None => declaration(task)?.to_string(),
    };
    let remembered = sql(
        "delete a task",
        "-- delete_task: of the configuration
        INSERT INTO deleted_tasks (name, configured, deleted_at, approval) VALUES ($1, $2, {now}, $3)
        ON CONFLICT (name) DO UPDATE
        SET configured = excluded.configured, deleted_at = excluded.deleted_at, approval = excluded.approval",
    );
    remembered
        .bind(task.name())
        .bind(configured)
        .bind(task.file_settings.approval.map(ApprovalRule::as_str))
        .execute(c)
        .await?;
    Ok(())
}
