//! `cts task events`.

use cts_api_client::Event;
use cts_core::runs::brief_newest_error;
use serde_json::{Value, json};

use super::runs::run_id::ShownIds;
use super::session::{ExitStatus, Session};
use crate::arguments::{OneTask, Output, TableWidth};
use crate::commands::table::table;
use crate::commands::time_text::{duration, local};

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
        Output::Table => {
            let width = query.wide.width();
            let ids = ShownIds::fetch(&client, width).await;
            session.ui.result(&listing(&status.events, &ids, width));
        }
    }
    Ok(())
}

/// A table of events; with the addresses of remote runs if there are any.
fn listing(events: &[Event], ids: &ShownIds, width: TableWidth) -> String {
    let row = |event: &Event| row(event, ids);
    if events.iter().all(|event| event.remote_url.is_none()) {
        let header = ["STARTED", "TOOK", "RESULT", "RUN", "CAUSE", "ERROR"];
        return table(header, events.iter().map(row), width);
    }
    let row = |event: &Event| {
        let [started, took, result, run, cause, error] = row(event);
        let url = event.remote_url.clone().unwrap_or_default();
        [started, took, result, run, url, cause, error]
    };
    let header = [
        "STARTED",
        "TOOK",
        "RESULT",
        "RUN",
        "REMOTE RUN",
        "CAUSE",
        "ERROR",
    ];
    table(header, events.iter().map(row), width)
}

fn row(event: &Event, ids: &ShownIds) -> [String; 6] {
    [
        local(event.start_time),
        duration(event.end_time - event.start_time),
        result(event).to_owned(),
        ids.short(run_of(event)).to_owned(),
        cause_of(event),
        reason(event),
    ]
}

/// The id of the event's run; empty for a tick that found no change, which has no run.
fn run_of(event: &Event) -> &str {
    let run = event.other.get("run_id").and_then(Value::as_str);
    run.unwrap_or_default()
}

/// The cause of its run, as far as that is known.
fn cause_of(event: &Event) -> String {
    let requested_by = event.other.get("requested_by").and_then(Value::as_str);
    if let Some(caller) = requested_by {
        return format!("requested by {caller}");
    }
    let lines = event.other.get("cause").and_then(Value::as_array);
    let lines = lines.into_iter().flatten().filter_map(Value::as_str);
    lines.collect::<Vec<_>>().join("; ")
}

/// How a run ended, in a word.
pub(super) const fn result(event: &Event) -> &'static str {
    if event.success { "succeeded" } else { "failed" }
}

fn reason(event: &Event) -> String {
    let error = event.error.as_ref();
    error.map_or_else(String::new, |error| brief_newest_error(&error.message))
}
