//! `cts task create` (docs/cli.md#cts-task).

use cts_api_client::ApiClient;

use super::prompt::{Action, approve_plan};
use super::session::{ExitStatus, Session};
use super::task_file;
use crate::arguments::Create;
use crate::commands::terminal_text::on_one_line;

pub(super) async fn run(session: &mut Session<'_>, options: &Create) -> Result<(), ExitStatus> {
    let file = task_file::read(session, "create", options.task_file.as_deref())?;
    let client = session.client(&options.client)?;
    let name = file.name.as_str();

    session
        .ui
        .info(&format!("Inspecting the changes for creating '{name}'"));
    session.ui.output("Generating the plan...");
    let inspected = client.inspect_task(&file.request);
    let inspected = session
        .say_what_is_waited_for(&client, name, inspected)
        .await;
    let inspected = inspected.map_err(|error| {
        let headline = format!("Error: unable to generate plan for '{name}'");
        session.refused(&headline, &error)
    })?;
    let request = ApiClient::create_request(&file.request);
    let ui = &mut session.ui;
    ui.output("");
    ui.output(&format!("Request ID: {}", inspected.request_id));
    ui.output(&format!("Request Payload:\n{request:#}"));
    ui.output("");
    ui.output(&format!("Plan:\n{}", inspected.run.plan));
    if let Some(url) = inspected.run.tfc_run_url.filter(|url| !url.is_empty()) {
        ui.output(&format!("Terraform Cloud run: {url}"));
    }
    if let Some(consent) = &inspected.run.consent {
        let reason = on_one_line(&consent.reason);
        ui.output(&format!("The run would wait for consent: {reason}"));
    }
    ui.output("");
    if !options.auto_approve && !approve_plan(session, Action::Creating, name).await? {
        return Ok(());
    }

    let ui = &mut session.ui;
    ui.info(&format!("Creating and running '{name}'"));
    ui.output("This can take minutes. Ending this command does not end the creation of the task.");
    ui.output("");
    let created = client.create_task(&file.request);
    let created = session.say_what_is_waited_for(&client, name, created).await;
    let created = created.map_err(|error| {
        let headline = format!("Error: unable to create '{name}'");
        session.refused(&headline, &error)
    })?;
    session.ui.info(&format!("Task '{name}' created"));
    session
        .ui
        .output(&format!("Request ID: '{}'", created.request_id));
    Ok(())
}
