//! `cts task events`.

use cts_api_client::Event;
use serde_json::json;

use super::session::{ExitStatus, Session};
use super::table::table;
use super::time_text::{duration, local};
use crate::arguments::{OneTask, Output};

pub(super) async fn run(session: &mut Session<'_>, task: &OneTask) -> Result<(), ExitStatus> {
    let OneTask { query, name } = task;
    let client = session.client(&query.client)?;
    let status = client
        .task_status(name)
        .await
        .map_err(|error| session.unanswered("list the events of", name, &error))?;
    match query.output {
        Output::Json => {
            let document = json!({ "task": name, "events": status.events });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if status.events.is_empty() => {
            session.ui.note(&format!("'{name}' has not run yet."));
        }
        Output::Table => session.ui.result(&listing(&status.events)),
    }
    Ok(())
}

/// A table of events; with the addresses of remote runs if there are any.
fn listing(events: &[Event]) -> String {
    if events.iter().all(|event| event.remote_url.is_none()) {
        let header = ["STARTED", "TOOK", "RESULT", "ID", "ERROR"];
        return table(header, events.iter().map(row));
    }
    let row = |event: &Event| {
        let [started, took, result, id, error] = row(event);
        let url = event.remote_url.clone().unwrap_or_default();
        [started, took, result, id, url, error]
    };
    let header = ["STARTED", "TOOK", "RESULT", "ID", "REMOTE RUN", "ERROR"];
    table(header, events.iter().map(row))
}

fn row(event: &Event) -> [String; 5] {
    [
        local(event.start_time),
        duration(event.end_time - event.start_time),
        result(event).to_owned(),
        event.id.clone(),
        first_line(event),
    ]
}

/// How a run ended, in a word.
pub(super) const fn result(event: &Event) -> &'static str {
    if event.success { "succeeded" } else { "failed" }
}

fn first_line(event: &Event) -> String {
    let message = event.error.as_ref().map_or("", |error| &error.message);
    let mut lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!("{first}{more}")
}
