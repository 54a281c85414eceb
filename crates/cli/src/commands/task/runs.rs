//! `cts runs`: the runs of all tasks, and the details of one run.

use clap::ValueEnum as _;
use cts_api_client::{CallError, Run, RunQuery};
use cts_core::runs::{first_sentence, folded_error};
use cts_proto::json::Word as _;
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{Diagnostic, RemoteRun, ResourceCounts, RunDetails, RunOutput};
use serde_json::json;

use super::attempts;
use super::run_id::{ShownIds, find};
use super::session::{ExitStatus, Session};
use crate::arguments::{ListRuns, Output, QueryOptions, TableWidth};
use crate::commands::table::{sheet, table};
use crate::commands::time_text::{duration, local, moment, steps, with_local_times};

/// Runs `cts runs list`.
pub(super) async fn list(session: &mut Session<'_>, options: ListRuns) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let status = options.status.and_then(|status| status.to_possible_value());
    let query = RunQuery {
        task: options.task,
        status: status.map(|status| status.get_name().to_owned()),
        limit: Some(options.limit),
    };
    let runs = client.runs(&query).await;
    let runs = runs.map_err(|error| failed(session, "list runs", &error))?;
    match options.query.output {
        Output::Json => {
            let document = json!({ "runs": runs.runs });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if runs.runs.is_empty() => session.ui.note("There are no such runs."),
        Output::Table => {
            let width = options.query.wide.width();
            let ids = ShownIds::fetch(&client, width).await;
            session.ui.result(&listing(&runs.runs, &ids, width));
        }
    }
    Ok(())
}

/// Runs `cts runs show`.
pub(super) async fn show(
    session: &mut Session<'_>,
    query: &QueryOptions,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let run = find(session, &client, id).await?;
    let text = match query.output {
        Output::Json => format!("{:#}\n", json!(run)),
        Output::Table => summary(&run),
    };
    session.ui.result(&text);
    Ok(())
}

pub(super) fn unknown(session: &mut Session<'_>, id: &str) -> ExitStatus {
    let headline = format!("Error: there is no run '{id}'");
    let hint = "`cts runs list` shows the runs that there are";
    session.fail(&headline, hint)
}

pub(super) fn failed(session: &mut Session<'_>, what: &str, error: &CallError) -> ExitStatus {
    let headline = format!("Error: unable to {what}");
    session.call_failed(&headline, error)
}

/// A table of runs; with remote runs if there are any.
fn listing(runs: &[Run], ids: &ShownIds, width: TableWidth) -> String {
    let row = |run: &Run| row(run, ids);
    let header = [
        "ID",
        "TASK",
        "KIND",
        "STATUS",
        "QUEUED",
        "TOOK",
        "RESOURCES",
    ];
    if runs.iter().all(|run| run.remote_run.is_none()) {
        return table(header, runs.iter().map(row), width);
    }
    let [id, task, kind, status, queued, took, resources] = header;
    let header = [
        id,
        task,
        kind,
        status,
        queued,
        took,
        resources,
        "ON SERVER",
        "ADDRESS",
    ];
    let row = |run: &Run| {
        let [id, task, kind, status, queued, took, resources] = row(run);
        let RemoteRun {
            status: remote,
            url,
            ..
        } = run.remote_run.clone().unwrap_or_default();
        [id, task, kind, status, queued, took, resources, remote, url]
    };
    table(header, runs.iter().map(row), width)
}

fn row(run: &Run, ids: &ShownIds) -> [String; 7] {
    let resources = run.details.as_ref().and_then(|details| details.resources);
    [
        ids.short(&run.id).to_owned(),
        run.task_name.clone(),
        run.kind().word(),
        run.status().word(),
        moment(run.queued_at).map(local).unwrap_or_default(),
        took(run).unwrap_or_default(),
        resources.map(counts).unwrap_or_default(),
    ]
}

/// Time from the first attempt to the end.
fn took(run: &Run) -> Option<String> {
    Some(duration(moment(run.finished_at)? - moment(run.started_at)?))
}

/// The time before the first attempt: `blocked 3 min 5 s, buffered 5.0 s, queued 120 ms`.
fn waited(run: &Run) -> String {
    let queued = moment(run.queued_at);
    let until_queued = |from| Some(duration(queued? - moment(from)?));
    let queue = moment(run.started_at)
        .zip(queued)
        .map(|(started, queued)| duration(started - queued));
    let parts = [
        ("blocked", until_queued(run.blocked_since)),
        ("buffered", until_queued(run.triggered_at)),
        ("queued", queue),
    ];
    let known = parts.into_iter();
    let known = known.filter_map(|(wait, time)| Some(format!("{wait} {}", time?)));
    known.collect::<Vec<_>>().join(", ")
}

/// `+1 ~2 -3`, followed by the number of imported resources.
fn counts(counts: ResourceCounts) -> String {
    let ResourceCounts {
        added,
        changed,
        destroyed,
        imported,
    } = counts;
    let text = format!("+{added} ~{changed} -{destroyed}");
    match imported {
        0 => text,
        imported => format!("{text}, {imported} imported"),
    }
}

/// All details of a run, for users.
pub(super) fn summary(run: &Run) -> String {
    let mut entries = vec![
        ("Run", run.id.clone()),
        ("Task", run.task_name.clone()),
        ("Kind", run.kind().word()),
        ("Status", run.status().word()),
        ("Attempts", attempts::text(run)),
    ];
    let optional = [
        ("Asked by", run.requested_by.clone()),
        ("Cause", run.cause.join("\n")),
        ("Waits for", with_local_times(&run.waiting_for)),
        ("Worker", run.worker_id.clone()),
        (
            "Queued",
            moment(run.queued_at).map(local).unwrap_or_default(),
        ),
        (
            "Began",
            moment(run.started_at).map(local).unwrap_or_default(),
        ),
        ("Took", took(run).unwrap_or_default()),
        ("Waited", waited(run)),
    ];
    entries.extend(optional.into_iter().filter(|(_, value)| !value.is_empty()));
    entries.extend(
        run.remote_run
            .as_ref()
            .map(|remote| ("Remote run", on_server(remote))),
    );
    if let Some(details) = &run.details {
        entries.extend(did(details));
        if !details.error_code.is_empty() {
            entries.push(("Code", details.error_code.clone()));
        }
    }
    if !run.error.is_empty() {
        entries.push(("Error", folded_error(&run.error)));
    }
    sheet(entries)
}

/// State of a remote run, on up to three lines.
fn on_server(remote: &RemoteRun) -> String {
    let requested = match remote.id.as_str() {
        "" => "requested",
        id => id,
    };
    let words = [requested, &remote.status];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut lines = vec![words.join(", ")];
    if !remote.waiting_for.is_empty() {
        lines.push(format!("waits: {}", remote.waiting_for));
    }
    if !remote.url.is_empty() {
        lines.push(remote.url.clone());
    }
    lines.join("\n")
}

/// Results of its last attempt.
fn did(details: &RunDetails) -> Vec<(&'static str, String)> {
    let changes = details.changes.iter();
    let mut changes: Vec<_> = changes
        .map(|change| format!("{} {}", change.action().word(), change.address))
        .collect();
    more(&mut changes, details.more_changes);
    let mut diagnostics = counted(&details.diagnostics);
    more(&mut diagnostics, details.more_diagnostics);
    let outputs: Vec<_> = details.outputs.iter().map(output).collect();
    let entries = [
        ("Steps", steps(details.phases.unwrap_or_default())),
        (
            "Resources",
            details.resources.map(counts).unwrap_or_default(),
        ),
        ("Changes", changes.join("\n")),
        ("Diagnostics", diagnostics.join("\n")),
        ("Outputs", outputs.join("\n")),
    ];
    let entries = entries.into_iter();
    entries.filter(|(_, value)| !value.is_empty()).collect()
}

/// Diagnostics in one line each, with the first sentence of the detail. Equal diagnostics, as of the instances of one
/// resource, are counted.
fn counted(diagnostics: &[Diagnostic]) -> Vec<String> {
    let mut lines: Vec<(String, usize, String)> = Vec::new();
    for it in diagnostics {
        let place = match (it.file.as_str(), it.line) {
            ("", _) => String::new(),
            (file, 0) => format!(" ({file})"),
            (file, line) => format!(" ({file}:{line})"),
        };
        let line = format!("{}: {}{place}", it.severity().word(), it.summary);
        match lines.iter_mut().find(|(other, ..)| *other == line) {
            Some((_, number, _)) => *number += 1,
            None => lines.push((line, 1, first_sentence(&it.detail))),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|(line, number, detail)| {
            let times = match number {
                1 => String::new(),
                number => format!(" ({number} times)"),
            };
            let colon = if detail.is_empty() { "" } else { ": " };
            format!("{line}{times}{colon}{detail}")
        })
        .collect()
}

/// `name = value`, the value as JSON.
fn output(output: &RunOutput) -> String {
    let RunOutput { name, value } = output;
    match value {
        Some(Value::Json(value)) => format!("{name} = {value}"),
        Some(Value::TooLong(_)) => format!("{name} (too long to be kept)"),
        Some(Value::Sensitive(_)) | None => format!("{name} (sensitive)"),
    }
}

fn more(lines: &mut Vec<String>, count: u32) {
    if count > 0 {
        lines.push(format!("and {count} more"));
    }
}
