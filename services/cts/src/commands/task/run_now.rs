//! `cts task run`.

use cts_api_client::{CallError, Event};
use serde_json::json;

use super::arguments::ServerOptions;
use super::session::{Details, ExitStatus, Session};
use super::show::last_run;
use super::table::sheet;
use crate::cli::groups::Output;

/// The API has no call for a run alone: running comes with enabling. So a disabled task is refused here,
/// for it would stay enabled.
pub(super) async fn run(
    session: &mut Session<'_>,
    options: &ServerOptions,
    output: Output,
    name: &str,
    wait: bool,
) -> Result<(), ExitStatus> {
    let client = session.client(options, Details::Stderr)?;
    let failed =
        |session: &mut Session<'_>, error: CallError| session.unanswered("run", name, &error);

    let task = client
        .task(name)
        .await
        .map_err(|error| failed(session, error))?;
    if !task.enabled {
        let headline = format!("Error: '{name}' is disabled");
        let hint = format!("`cts task enable {name}` enables it and runs it");
        return Err(session.fail(&headline, &hint, Details::Stderr));
    }
    let before = client
        .task_status(name)
        .await
        .map_err(|error| failed(session, error))?;
    if output == Output::Table {
        session.ui.info(&format!("Running '{name}'..."));
    }
    let answer = session
        .unless_busy(&client, wait, name, async || client.run_task(name).await)
        .await;
    answer.map_err(|error| failed(session, error))?;
    let after = client
        .task_status(name)
        .await
        .map_err(|error| failed(session, error))?;
    // A run between the two would be shown too, being the newest.
    let known = |event: &&Event| before.events.iter().all(|other| other.id != event.id);
    let event = after.events.first().filter(known);
    match output {
        Output::Json => {
            let document = json!({ "task": name, "status": after.status, "event": event });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table => {
            session
                .ui
                .info(&format!("'{name}' has run, its status is {}", after.status));
            if let Some(event) = event {
                let text = sheet(last_run(event));
                session.ui.result(&text);
            }
        }
    }
    Ok(())
}
