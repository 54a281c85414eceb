//! `cts task delete` (docs/cli.md#cts-task).

use cts_api_client::{ApiClient, ErrorForm};

use super::arguments::ServerOptions;
use super::prompt::{Deed, approve};
use super::session::{Details, ExitStatus, Session, pause};

pub(super) async fn run(
    session: &mut Session<'_>,
    options: &ServerOptions,
    name: &str,
    auto_approve: bool,
    wait: bool,
) -> Result<(), ExitStatus> {
    let client = session.client(options, Details::Stdout)?;
    if !auto_approve {
        let ui = &mut session.ui;
        ui.info(&format!("Do you want to delete '{name}'?"));
        ui.output(" - This action cannot be undone.");
        ui.output(" - Deleting a task does not destroy the infrastructure that it manages.");
        ui.output(" - A task that is not running is deleted at once.");
        ui.output(" - A running task is deleted when its run is over.");
        if !approve(session, Deed::Deleting, name).await? {
            return Ok(());
        }
    }
    session
        .ui
        .info(&format!("Marking '{name}' for deletion..."));
    let headline = format!("Error: unable to delete '{name}'");
    client
        .delete_task(name)
        .await
        .map_err(|error| session.refused(&headline, &error, ErrorForm::New, Details::Stdout))?;
    session.ui.info(&format!(
        "'{name}' has been marked for deletion and goes when it is not running."
    ));
    if !wait {
        return Ok(());
    }
    wait_until_gone(&client, name).await.map_err(|error| {
        let headline = format!("Error: unable to see whether '{name}' is gone");
        session.refused(&headline, &error, ErrorForm::New, Details::Stdout)
    })?;
    session.ui.info(&format!("'{name}' has been deleted."));
    Ok(())
}

async fn wait_until_gone(client: &ApiClient, name: &str) -> Result<(), cts_api_client::CallError> {
    loop {
        match client.task(name).await {
            Ok(_still_there) => pause().await,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
