//! `cts task delete` (docs/cli.md#cts-task).

use cts_api_client::{ApiClient, CallError};

use super::prompt::{Action, approve};
use super::session::{ExitStatus, Session, pause};
use crate::arguments::Delete;
use crate::commands::terminal_text::on_one_line;

/// Fate of the infrastructure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The infrastructure stays, as the task declares.
    Stays,
    /// The infrastructure stays, because the caller requested that, or because the task could not be read and
    /// an unannounced destruction would be a surprise.
    IsRetained,
    IsDestroyed,
    /// The destruction of the infrastructure was cancelled, and continues.
    GoesOn,
}

pub(super) async fn run(session: &mut Session<'_>, options: &Delete) -> Result<(), ExitStatus> {
    let name = session.one_name("delete", &options.names)?;
    let client = session.client(&options.client)?;
    let headline = format!("Error: unable to delete '{name}'");
    let end = match end_of(&client, name, options.retain).await {
        Ok(end) => end,
        Err(error) if session.is_ours() => return Err(session.refused(&headline, &error)),
        // The original asks first.
        Err(_unknown) => End::Stays,
    };
    if !options.auto_approve && !is_approved(session, &client, name, end).await? {
        return Ok(());
    }
    session
        .ui
        .info(&format!("Marking task '{name}' for deletion..."));
    client
        .delete_task(name, end == End::IsRetained)
        .await
        .map_err(|error| session.refused(&headline, &error))?;
    session.ui.info(&format!(
        "Task '{name}' has been marked for deletion and will be deleted when not running."
    ));
    if matches!(end, End::IsDestroyed | End::GoesOn) {
        session
            .ui
            .output("Its infrastructure is destroyed before the task is deleted.");
    }
    if !options.wait {
        return Ok(());
    }
    wait_until_gone(&client, name).await.map_err(|error| {
        let headline = format!("Error: unable to see whether '{name}' is gone");
        session.refused(&headline, &error)
    })?;
    session.ui.info(&format!("'{name}' has been deleted."));
    Ok(())
}

/// Determines the fate of the infrastructure. If the task cannot be read, its deletion, which did not
/// announce a destruction, retains the infrastructure. An error means that the task does not exist.
async fn end_of(client: &ApiClient, name: &str, retain: bool) -> Result<End, CallError> {
    if retain {
        return Ok(End::IsRetained);
    }
    match client.task(name).await {
        Ok(task) if task.is_suspended() => Ok(End::GoesOn),
        Ok(task) if task.is_destroyed() => Ok(End::IsDestroyed),
        Ok(_retained) => Ok(End::Stays),
        Err(error) if error.is_not_found() => Err(error),
        Err(_unread) => Ok(End::IsRetained),
    }
}

async fn is_approved(
    session: &mut Session<'_>,
    client: &ApiClient,
    name: &str,
    end: End,
) -> Result<bool, ExitStatus> {
    if end == End::IsDestroyed {
        show_plan(session, client, name).await?;
        let ui = &mut session.ui;
        ui.info(&format!(
            "Do you want to delete '{name}' and to DESTROY its infrastructure?"
        ));
        ui.output(" - This action cannot be undone.");
        ui.output(" - Terraform destroys what the plan above says.");
        ui.output(" - If something of the task runs, that ends first.");
        ui.output(
            " - The task is deleted when all of it is destroyed; until then that is tried again.",
        );
        ui.output(" - With `-retain` the infrastructure stays.");
    } else if end == End::GoesOn {
        let ui = &mut session.ui;
        ui.info(&format!(
            "The destruction of the infrastructure of '{name}' is suspended. Do you want to go on with it?"
        ));
        ui.output(" - This action cannot be undone.");
        ui.output(" - Terraform DESTROYS what is left.");
        ui.output(" - With `-retain` what is left stays, and the task is deleted.");
    } else {
        let is_ours = session.is_ours();
        let ui = &mut session.ui;
        ui.info(&format!("Do you want to delete '{name}'?"));
        ui.output(" - This action cannot be undone.");
        if is_ours {
            ui.output(&format!(
                " - '{name}' will be removed from cts; its infrastructure stays."
            ));
        } else {
            ui.output(" - Deleting a task does not destroy the infrastructure that it manages.");
        }
        ui.output(" - A task that is not running is deleted at once.");
        ui.output(" - A running task is deleted when its run is over.");
    }
    approve(session, Action::Deleting, name).await
}

async fn show_plan(
    session: &mut Session<'_>,
    client: &ApiClient,
    name: &str,
) -> Result<(), ExitStatus> {
    let ui = &mut session.ui;
    ui.info(&format!("Inspecting what deleting '{name}' destroys"));
    ui.output("Generating the plan...");
    ui.output("");
    let plan = client.plan_destruction(name).await;
    let plan = plan.map_err(|error| {
        let headline = format!("Error: unable to generate plan for '{name}'");
        session.refused(&headline, &error)
    })?;
    session.ui.output(&plan.plan);
    if let Some(consent) = &plan.consent {
        let reason = on_one_line(&consent.reason);
        let text = format!("The destruction would wait for consent: {reason}");
        session.ui.output(&text);
    }
    session.ui.output("");
    Ok(())
}

async fn wait_until_gone(client: &ApiClient, name: &str) -> Result<(), CallError> {
    loop {
        match client.task(name).await {
            Ok(_still_there) => pause().await,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
