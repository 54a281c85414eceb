//! `cts runs logs` and `cts task logs`: the output of Terraform.

use cts_api_client::{ApiClient, CallError, FollowedLog, NDJSON, Run, RunQuery};
use cts_proto::log::v1::{LogSearchState, ReadLogWindowResponse, SearchLogResponse};
use serde_json::json;

use super::failure::{failed, unknown};
use super::run_id::run_id;
use crate::arguments::{LogPart, Output, QueryOptions, TaskLogs};
use crate::commands::task::session::{ExitStatus, Session, pause};

/// Times that a log is followed again without a new line before the rest of it is given up.
const TRIES: u32 = 10;

/// Number of the newest runs that are searched for a run with a log.
const NEWEST: u32 = 100;

/// Runs `cts runs logs`.
pub(crate) async fn of_run(
    session: &mut Session<'_>,
    query: &QueryOptions,
    wanted: &LogPart,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let id = run_id(session, &client, id).await?;
    print(session, &client, query.output, wanted, &id).await
}

/// Runs `cts task logs`.
pub(crate) async fn of_task(
    session: &mut Session<'_>,
    options: &TaskLogs,
) -> Result<(), ExitStatus> {
    let TaskLogs { query, part, name } = options;
    let client = session.client(&query.client)?;
    let newest = RunQuery {
        task: Some(name.clone()),
        status: None,
        state: None,
        cause: None,
        limit: Some(NEWEST),
    };
    let runs = client.runs(&newest).await;
    let runs = runs.map_err(|error| failed(session, "list runs", &error))?;
    // A waiting or withdrawn run has no log, unlike the run before it.
    let with_log = |run: &&Run| part.follow || run.attempts > 0;
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
    print(session, &client, query.output, part, &run.id).await
}

async fn print(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    wanted: &LogPart,
    id: &str,
) -> Result<(), ExitStatus> {
    let lines = wanted_lines(client, wanted, id).await;
    let mut lines = lines.map_err(|error| failed(session, "read the log", &error))?;
    let mut tries = 0;
    loop {
        let printed = if let Some(text) = &wanted.search {
            search(session, client, output, (text.as_str(), wanted.attempt), id).await
        } else {
            part(session, client, output, wanted.follow, id, &mut lines).await
        };
        match printed {
            Ok(()) => return Ok(()),
            Err(CallError::Transport { .. }) if wanted.follow && tries < TRIES => {
                tries += 1;
                pause().await;
            }
            Err(error) if error.is_not_found() => return Err(unknown(session, id)),
            Err(error) => return Err(failed(session, "read the log", &error)),
        }
    }
}

/// The wanted lines: the position before the first, and the position of the last if it is known.
async fn wanted_lines(
    client: &ApiClient,
    wanted: &LogPart,
    id: &str,
) -> Result<(u64, u64), CallError> {
    if wanted.tail.is_none() && (wanted.attempt.is_none() || wanted.search.is_some()) {
        return Ok((0, u64::MAX));
    }
    let position = async |part: &[(&str, &str)]| {
        let mut window = client.log_part(id, part, wanted.attempt).await?;
        let window: Option<ReadLogWindowResponse> = window.next().await?;
        let lines = window.unwrap_or_default().lines;
        Ok::<_, CallError>(lines.first().map_or(0, |line| line.position))
    };
    let first = position(&[NDJSON, ("after", "0"), ("limit", "1")]).await?;
    let last = position(&[NDJSON, ("tail", "1")]).await?;
    let after = last.saturating_sub(wanted.tail.unwrap_or(u64::MAX));
    let end = wanted.attempt.map_or(u64::MAX, |_number| last);
    Ok((after.max(first.saturating_sub(1)), end))
}

/// Prints the wanted lines that are not printed yet, as far as one answer contains them.
async fn part(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    follow: bool,
    id: &str,
    (position, end): &mut (u64, u64),
) -> Result<(), CallError> {
    let mut log = client.log(id, *position, follow).await?;
    while *position < *end
        && let Some(mut part) = log.next().await?
    {
        let surplus = usize::try_from(part.position.saturating_sub(*end)).unwrap_or(usize::MAX);
        let lines = part.lines.len().saturating_sub(surplus);
        part.lines.truncate(lines);
        part.position = part.position.min(*end);
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

/// Prints the lines that contain the text, of all attempts or of one.
async fn search(
    session: &mut Session<'_>,
    client: &ApiClient,
    output: Output,
    (text, attempt): (&str, Option<u32>),
    id: &str,
) -> Result<(), CallError> {
    let part = [NDJSON, ("search", text)];
    let mut found: FollowedLog<SearchLogResponse> = client.log_part(id, &part, attempt).await?;
    let mut end = None;
    while let Some(message) = found.next().await? {
        match output {
            Output::Json => session.ui.result(&format!("{}\n", json!(message))),
            Output::Table => {
                for line in &message.lines {
                    let text = format!("{}:{}", line.position, line.text);
                    session.ui.block(&text);
                }
            }
        }
        end = Some((message.state(), message.searched_from));
    }
    let (state, from) = end.unwrap_or_default();
    if state == LogSearchState::Complete {
        return Ok(());
    }
    let reason = state.early_end().unwrap_or("the search broke off");
    let text = format!("Searched from line {from} only: {reason}.");
    session.ui.note(&text);
    Ok(())
}
