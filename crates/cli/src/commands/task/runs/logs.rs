//! `cts runs logs` and `cts task logs`: the output of Terraform.

use cts_api_client::{ApiClient, CallError, Run, RunQuery};
use serde_json::json;

use super::failure::{failed, unknown};
use super::run_id::run_id;
use crate::arguments::{Output, QueryOptions, TaskLogs};
use crate::commands::task::session::{ExitStatus, Session, pause};

/// Times that a log is followed again without a new line before the rest of it is given up.
const TRIES: u32 = 10;

/// Number of the newest runs that are searched for a run with a log.
const NEWEST: u32 = 100;

/// Runs `cts runs logs`.
pub(crate) async fn of_run(
    session: &mut Session<'_>,
    query: &QueryOptions,
    follow: bool,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let id = run_id(session, &client, id).await?;
    print(session, &client, query.output, follow, &id).await
}

/// Runs `cts task logs`.
pub(crate) async fn of_task(
    session: &mut Session<'_>,
    options: &TaskLogs,
) -> Result<(), ExitStatus> {
    let TaskLogs {
        query,
        follow,
        name,
    } = options;
    let client = session.client(&query.client)?;
    let newest = RunQuery {
        task: Some(name.clone()),
        status: None,
        state: None,
        limit: Some(NEWEST),
    };
    let runs = client.runs(&newest).await;
    let runs = runs.map_err(|error| failed(session, "list runs", &error))?;
    // A waiting or withdrawn run has no log, unlike the run before it.
    let with_log = |run: &&Run| *follow || run.attempts > 0;
    let run = runs.runs.iter().find(with_log).or(runs.runs.first());
    let Some(run) = run else {
        // An unknown task is a failure, and a task that has not run is not.
        let known = client.task(name).await;
        known.map_err(|error| session.unanswered("show", name, &error))?;
        session.ui.note(&format!("'{name}' has not run yet."));
        return Ok(());
    };
    let begun = if run.attempts > 0 {
        ""
    } else {
        ", which has not begun"
    };
    session.ui.note(&format!("Run {}{begun}", run.id));
    print(session, &client, query.output, *follow, &run.id).await
}

async fn print(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    follow: bool,
    id: &str,
) -> Result<(), ExitStatus> {
    let (mut position, mut tries) = (0, 0);
    loop {
        match part(session, client, output, follow, id, &mut position).await {
            Ok(()) => return Ok(()),
            Err(CallError::Transport { .. }) if follow && tries < TRIES => {
                tries += 1;
                pause().await;
            }
            Err(error) if error.is_not_found() => return Err(unknown(session, id)),
            Err(error) => return Err(failed(session, "read the log", &error)),
        }
    }
}

/// Prints the log after `position`, as far as one answer contains it.
async fn part(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    follow: bool,
    id: &str,
    position: &mut u64,
) -> Result<(), CallError> {
    let mut log = if follow {
        client.follow_log(id, *position).await?
    } else {
        client.log(id).await?
    };
    while let Some(part) = log.next().await? {
        *position = part.position;
        match output {
            Output::Json => session.ui.result(&format!("{}\n", json!(part))),
            Output::Table => {
                for line in &part.lines {
                    session.ui.block(&line.text);
                }
            }
        }
    }
    Ok(())
}
