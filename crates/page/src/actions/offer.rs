//! Buttons of the actions that make sense in the present state of a task, a run, a worker or the brake.

use cts_proto::cluster::v1::{Brake, OverviewWorker, WorkerCondition};
use cts_proto::run::v1::{ApprovalState, Run, RunKind, RunStatus};
use cts_proto::task::v1::TaskPhase;

use super::answers;
use super::consent::is_waiting;
use super::table::Key;
use crate::action::Button;
use crate::address::escape;
use crate::context::{Context, Refusal};
use crate::text::Markup;

/// Buttons in a row.
fn row(buttons: &[Markup]) -> Markup {
    let buttons: String = buttons.iter().map(ToString::to_string).collect();
    Markup(match buttons.as_str() {
        "" => String::new(),
        buttons => format!("<div class=\"actions\">{buttons}</div>"),
    })
}

/// Leads to the decision about the effect of `run`.
fn decision(run: &str, context: &Context<'_>) -> Markup {
    let address = context.link(&format!("approvals/{}", escape(run)));
    Markup(format!("<a href=\"{address}\">Decide about the effect</a>"))
}

/// The actions of the task `name`. A refused call leaves out the buttons that depend on its answer.
///
/// # Errors
///
/// The task or its explanation cannot be read.
pub(crate) async fn of_task(name: &str, context: &Context<'_>) -> Result<Markup, Refusal> {
    let task = answers::task(name, context).await?;
    let explained = answers::explanation(name, context).await?;
    let current = explained.current_run.as_ref();
    let button = |key: Key| Button::new(key.action(), name, context);
    let is_deleted = explained.phase() == TaskPhase::Deleting;
    let is_running = |run: &Run| run.status() == RunStatus::Running && run.kind() != RunKind::Check;
    let busy = if is_deleted {
        Some("the task is being deleted")
    } else if current.is_some_and(is_running) {
        Some("a run of the task is in progress")
    } else {
        None
    };
    let mut buttons = Vec::new();
    if task.enabled {
        buttons.push(button(Key::Run).greyed(busy).markup());
        buttons.push(button(Key::Disable).greyed(busy).markup());
    } else {
        let disabled = button(Key::Run).greyed(Some("the task is disabled"));
        buttons.push(disabled.markup());
        buttons.push(button(Key::Enable).greyed(busy).markup());
    }
    buttons.push(button(Key::Inspect).greyed(busy).markup());
    if let Ok(Some(_)) = answers::hold(name, context).await {
        buttons.push(button(Key::Release).markup());
    }
    if answers::state(name, context)
        .await
        .is_ok_and(|state| state.conflict.is_some())
    {
        buttons.push(button(Key::DecideState).markup());
    }
    let listed = answers::approvals(&[name], context)
        .await
        .unwrap_or_default();
    for approval in listed.approvals.iter().filter(|it| it.task_name == name) {
        match approval.state() {
            _ if is_waiting(approval) => buttons.push(decision(&approval.run_id, context)),
            ApprovalState::Rejected => {
                let reopen = Button::new(Key::Reopen.action(), "", context);
                buttons.push(reopen.with("task", name).markup());
            }
            _ => {}
        }
    }
    if let Some(run) = current {
        buttons.extend(cancellations(run, context));
    }
    buttons.push(button(Key::Delete).markup());
    Ok(row(&buttons))
}

/// The actions of a run.
pub(crate) fn of_run(run: &Run, context: &Context<'_>) -> Markup {
    let mut buttons = Vec::new();
    if run.state == "waiting" {
        buttons.push(decision(&run.id, context));
    }
    buttons.extend(cancellations(run, context));
    row(&buttons)
}

fn cancellations(run: &Run, context: &Context<'_>) -> Vec<Markup> {
    let keys: &[Key] = match run.status() {
        RunStatus::Queued => &[Key::Cancel],
        RunStatus::Running => &[Key::Cancel, Key::CancelByForce],
        _ => &[],
    };
    let button = |key: &Key| Button::new(key.action(), &run.id, context).markup();
    keys.iter().map(button).collect()
}

/// The actions of a worker.
pub(crate) fn of_worker(worker: &OverviewWorker, context: &Context<'_>) -> Markup {
    let drain = Button::new(Key::Drain.action(), &worker.id, context);
    let is_active = worker.condition() == WorkerCondition::Active;
    row(&is_active
        .then(|| drain.markup())
        .into_iter()
        .collect::<Vec<_>>())
}

/// The actions of the brake of the fleet.
pub(crate) fn of_brake(brake: &Brake, context: &Context<'_>) -> Markup {
    let release = Button::new(Key::ReleaseBrake.action(), "", context);
    row(&brake
        .set
        .then(|| release.markup())
        .into_iter()
        .collect::<Vec<_>>())
}
