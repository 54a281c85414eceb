//! `cts task run`.

use cts_api_client::{ApiClient, CallError, Event, Run};
use cts_core::Chain;
use serde_json::json;

use super::runs::summary;
use super::session::{Details, ExitStatus, Session, pause};
use super::show::last_run;
use super::table::sheet;
use super::watch::Watch;
use crate::arguments::{ClientOptions, Output};

/// How a task is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// If the task runs already, wait until that is over.
    pub(super) wait: bool,
    /// Show the run as it goes on.
    pub(super) watch: bool,
}

/// The API has no call for a run alone: running comes with enabling. So a disabled task is refused here,
/// for it would stay enabled.
pub(super) async fn run(
    session: &mut Session<'_>,
    client: &ClientOptions,
    output: Output,
    name: &str,
    options: Options,
) -> Result<(), ExitStatus> {
    let client = session.client(client, Details::Stderr)?;
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
    let (answer, run) = if options.watch {
        watched(session, &client, output, name, options.wait).await
    } else {
        let call = async || client.run_task(name).await;
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
) -> (Result<(), CallError>, Option<Run>) {
    let mut said = false;
    loop {
        let mut watch = match Watch::new(client, name).await {
            Ok(watch) => watch,
            Err(error) => return (Err(error), None),
        };
        let answer = watch.during(session, output, client.run_task(name)).await;
        match answer {
            Err(error) if error.is_busy() => {
                if !wait {
                    return (Err(error), None);
                }
                if !said {
                    session.warn_busy(name);
                    said = true;
                }
                pause().await;
            }
            answer => {
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
                return (answer, run);
            }
        }
    }
}
