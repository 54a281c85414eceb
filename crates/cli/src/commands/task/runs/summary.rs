//! The details of a run, for users.

use cts_api_client::Run;
use cts_core::runs::{first_sentence, folded_error};
use cts_proto::json::Word as _;
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{Diagnostic, RemoteRun, ResourceCounts, RunDetails, RunOutput};

use super::attempts;
use crate::commands::table::sheet;
use crate::commands::time_text::{duration, local, moment, steps, with_local_times};

/// All details of a run.
pub(crate) fn summary(run: &Run) -> String {
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
        ("Causes", run.cause_ids.join("\n")),
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

/// Time from the first attempt to the end.
pub(super) fn took(run: &Run) -> Option<String> {
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
pub(super) fn counts(counts: ResourceCounts) -> String {
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
