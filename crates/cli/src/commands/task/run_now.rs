//! `cts task run`.

use cts_api_client::{ApiClient, CallError, Event, Run};
use cts_core::Chain;
use serde_json::json;

use super::runs::summary;
use super::session::{ExitStatus, Session};
use super::show::last_run;
use super::watch::Watch;
use crate::arguments::{self, Output};
use crate::commands::table::sheet;
use crate::commands::terminal_text::on_one_line;

/// The API has no call for a run alone: running comes with enabling. Therefore a disabled task is refused here, because
/// it would stay enabled.
pub(super) async fn run(
    session: &mut Session<'_>,
    options: &arguments::Run,
) -> Result<(), ExitStatus> {
    let (output, name) = (options.query.output, options.name.as_str());
    let client = session.client(&options.query.client)?;
    let failed =
        |session: &mut Session<'_>, error: CallError| session.unanswered("run", name, &error);

    let task = client
        .task(name)
        .await
        .map_err(|error| failed(session, error))?;
    if !task.enabled {
        let headline = format!("Error: '{name}' is disabled");
        let hint = format!("`cts task enable {name}` enables it and runs it");
        return Err(session.fail(&headline, &hint));
    }
    if options.no_wait {
        let call = async || client.run_task(name, false).await;
        let run = session.unless_busy(&client, options.wait, name, call).await;
        let run = run
            .map_err(|error| failed(session, error))?
            .unwrap_or_default();
        let text = match output {
            Output::Json => format!("{:#}\n", json!({ "task": name, "run_id": run })),
            Output::Table => format!("'{name}' runs as {}\n", on_one_line(&run)),
        };
        session.ui.result(&text);
        return Ok(());
    }
    let before = client
        .task_status(name)
        .await
        .map_err(|error| failed(session, error))?;
    if output == Output::Table {
        session.ui.info(&format!("Running '{name}'..."));
    }
    let (answer, run) = if options.watch {
        watched(session, &client, output, name, options.wait).await
    } else {
        let call = async || client.run_task(name, true).await;
        let answer = session.unless_busy(&client, options.wait, name, call).await;
        (answer, None)
    };
    if let (Err(_), Some(run), Output::Table) = (&answer, &run, output) {
        session.ui.result(&summary(run));
    }
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
            let mut document = json!({ "task": name, "status": after.status, "event": event });
            if let Some(run) = run {
                document["run"] = json!(run);
            }
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table => {
            session
                .ui
                .info(&format!("'{name}' has run, its status is {}", after.status));
            if let Some(run) = run {
                session.ui.result(&summary(&run));
            } else if let Some(event) = event {
                let text = sheet(last_run(event));
                session.ui.result(&text);
            }
        }
    }
    Ok(())
}

/// Runs the task and shows the run as it goes on. Gives the run too, if it was found.
async fn watched(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    name: &str,
    wait: bool,
) -> (Result<Option<String>, CallError>, Option<Run>) {
    let mut watch = None;
    let attempt = async |session: &mut Session<'_>| {
        watch = None;
        let mut begun = Watch::new(client, name).await?;
        let call = client.run_task(name, true);
        let answer = begun.during(session, output, call).await;
        watch = Some(begun);
        answer
    };
    let answer = session.retried_while_busy(wait, name, attempt).await;
    let is_busy = answer.as_ref().is_err_and(CallError::is_busy);
    let Some(watch) = watch.filter(|_| !is_busy) else {
        return (answer, None);
    };
    // The answer of the call counts, even if the rest of the run cannot be had.
    let run = match watch.finish(session, output).await {
        Ok(run) => run,
        Err(error) => {
            let reason = Chain(&error);
            let text = format!("The rest of the run cannot be shown: {reason}");
            session.ui.warning(&text);
            None
        }
    };
    (answer, run)
}
