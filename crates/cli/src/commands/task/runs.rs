//! `cts runs`: the runs of all tasks, and the details of one run.

pub(super) mod approvals;
mod attempts;
pub(super) mod cancel;
pub(super) mod causes;
mod failure;
pub(super) mod input;
pub(super) mod logs;
pub(super) mod plan;
pub(super) mod run_id;
mod summary;

use clap::ValueEnum as _;
use cts_api_client::{Run, RunQuery};
use cts_proto::json::Word as _;
use cts_proto::run::v1::RemoteRun;
use serde_json::json;

use self::failure::failed;
use self::run_id::{ShownIds, find};
use self::summary::{counts, took};
use super::session::{ExitStatus, Session};
use crate::arguments::{ListRuns, Output, QueryOptions, TableWidth};
use crate::commands::table::table;
use crate::commands::time_text::{local, moment};

pub(super) use self::summary::summary;

/// Runs `cts runs list`.
pub(super) async fn list(session: &mut Session<'_>, options: ListRuns) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let status = options.status.and_then(|status| status.to_possible_value());
    let query = RunQuery {
        task: options.task,
        status: status.map(|status| status.get_name().to_owned()),
        state: options.state,
        cause: options.cause.map(|cause| cause.to_string()),
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
        if run.state.is_empty() {
            run.status().word()
        } else {
            run.state.clone()
        },
        moment(run.queued_at).map(local).unwrap_or_default(),
        took(run).unwrap_or_default(),
        resources.map(counts).unwrap_or_default(),
    ]
}
