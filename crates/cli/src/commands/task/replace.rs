//! `cts task replace` (docs/cli.md#cts-task).

use cts_api_client::{ApiClient, Task};
use cts_config::TaskFile;
use serde_json::{Map, Value, json};

use super::differences::{Difference, differences};
use super::prompt::ask;
use super::session::{ExitStatus, Session};
use super::table::table;
use super::task_file;
use crate::arguments::{Output, Replace};

pub(super) async fn run(session: &mut Session<'_>, options: &Replace) -> Result<(), ExitStatus> {
    let output = options.query.output;
    let file = task_file::read(session, "replace", options.task_file.as_deref())?;
    let client = session.client(&options.query.client)?;
    let name = file.name.as_str();
    let here = client
        .task(name)
        .await
        .map_err(|error| session.unanswered("replace", name, &error))?;
    let wanted = as_task(&file.request)
        .map_err(|error| session.fail("Error: unable to read the task", &error.to_string()))?;
    let found = differences(&wanted, &here, true);
    if output == Output::Table {
        show(session, name, &found);
    }
    let replaces = !found.is_empty() && !options.dry_run;
    if replaces {
        if !options.auto_approve && !approve(session, &wanted).await? {
            return Ok(());
        }
        if output == Output::Table && wanted.enabled {
            session.ui.info(&format!("Replacing and running '{name}'"));
        }
        replace(session, &client, &file).await?;
    }
    match output {
        Output::Json => {
            let document = document(name, &found, replaces);
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if replaces => session.ui.info(&format!("Task '{name}' replaced")),
        Output::Table => {}
    }
    Ok(())
}

async fn approve(session: &mut Session<'_>, wanted: &Task) -> Result<bool, ExitStatus> {
    let follows = if wanted.enabled {
        "The task will be replaced and run."
    } else {
        "The task will be replaced, and does not run, because it is disabled."
    };
    session.ui.output(follows);
    let cancelled = format!("Cancelled replacing task '{}'", wanted.name);
    ask(session, &cancelled).await
}

async fn replace(
    session: &mut Session<'_>,
    client: &ApiClient,
    file: &TaskFile,
) -> Result<(), ExitStatus> {
    let name = file.name.as_str();
    let call = client.replace_task(name, &file.request);
    let answer = session.say_what_is_waited_for(client, name, call).await;
    answer.map(drop).map_err(|error| {
        if error.is_failed_run() {
            let headline = format!("Error: task '{name}' is replaced, and its run failed");
            session.call_failed(&headline, &error)
        } else {
            session.unanswered("replace", name, &error)
        }
    })
}

/// The task that a request declares.
fn as_task(request: &Map<String, Value>) -> Result<Task, serde_json::Error> {
    let mut members = request.clone();
    members.entry("enabled").or_insert(Value::Bool(true));
    serde_json::from_value(Value::Object(members))
}

fn document(name: &str, found: &[Difference], replaced: bool) -> Value {
    let found = found.iter().map(|difference| {
        json!({
            "member": difference.member,
            "now": difference.here,
            "file": difference.source,
        })
    });
    let found: Vec<Value> = found.collect();
    json!({ "task": name, "replaced": replaced, "differences": found })
}

fn show(session: &mut Session<'_>, name: &str, found: &[Difference]) {
    if found.is_empty() {
        let note = format!("'{name}' is already as in the file");
        session.ui.note(&note);
        return;
    }
    let rows = found.iter().map(|difference| {
        [
            difference.member.clone(),
            text(&difference.here),
            text(&difference.source),
        ]
    });
    let text = table(["MEMBER", "NOW", "IN THE FILE"], rows);
    session.ui.result(&text);
}

/// A value for display: a string without quotes, and nothing for an absent member.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
