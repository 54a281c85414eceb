//! `cts task replace` (docs/cli.md#cts-task).

use cts_api_client::{ApiClient, Hold, Replaced, Task};
use cts_config::TaskFile;
use serde_json::{Map, Value, json};

use super::differences::{Difference, differences};
use super::prompt::ask;
use super::release::held;
use super::session::{ExitStatus, Session};
use super::task_file;
use crate::arguments::{Output, Replace, TableWidth};
use crate::commands::table::table;
use crate::commands::terminal_text::on_one_line;

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
        show(session, name, &found, options.query.wide.width());
    }
    let replaces = !found.is_empty() && !options.dry_run;
    let mut replaced = Replaced::default();
    if replaces {
        let approved =
            options.auto_approve || approve(session, &client, &wanted, options.release).await?;
        if !approved {
            return Ok(());
        }
        if output == Output::Table && wanted.enabled {
            session.ui.info(&format!("Replacing and running '{name}'"));
        }
        replaced = replace(session, &client, &file, options).await?;
    }
    match output {
        Output::Json => {
            let document = document(name, &found, replaces, &replaced);
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if replaces => {
            session.ui.info(&format!("Task '{name}' replaced"));
            if let Some(held) = &replaced.held {
                session.ui.note(&pending(name, held));
            }
            if let Some(run) = &replaced.run {
                session.ui.note(&format!("Its run is {}", on_one_line(run)));
            }
        }
        Output::Table => {}
    }
    Ok(())
}

/// The note about a run that does not follow yet.
pub(super) fn pending(name: &str, held: &str) -> String {
    format!(
        "Its run is blocked: {}. The next run of '{name}' that may applies the declaration, and `cts task release {name}` \
         lets it go on",
        on_one_line(held)
    )
}

async fn approve(
    session: &mut Session<'_>,
    client: &ApiClient,
    wanted: &Task,
    release: bool,
) -> Result<bool, ExitStatus> {
    let name = wanted.name.as_str();
    let hold = if wanted.enabled {
        let status = client.task_status(name).await;
        let status = status.map_err(|error| session.unanswered("replace", name, &error))?;
        status.hold
    } else {
        None
    };
    if let Some(hold) = &hold {
        show_hold(session, name, hold);
    }
    let follows = match (wanted.enabled, hold) {
        (false, _) => "The task will be replaced, and does not run, because it is disabled.",
        (true, Some(_)) if !release => {
            "The task will be replaced, and runs when it is released, or when the instances are back."
        }
        (true, _) => "The task will be replaced and run.",
    };
    session.ui.output(follows);
    let cancelled = format!("Cancelled replacing task '{}'", wanted.name);
    ask(session, &cancelled).await
}

async fn replace(
    session: &mut Session<'_>,
    client: &ApiClient,
    file: &TaskFile,
    options: &Replace,
) -> Result<Replaced, ExitStatus> {
    let name = file.name.as_str();
    let (release, waits) = (options.release, !options.no_wait);
    let call = client.replace_task(name, &file.request, release, waits);
    let answer = session.say_what_is_waited_for(client, name, call).await;
    answer.map_err(|error| {
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

/// Shows the block of a task.
pub(super) fn show_hold(session: &mut Session<'_>, name: &str, hold: &Hold) {
    session.ui.output(&format!("'{name}' is blocked:"));
    for line in held(hold).lines() {
        session.ui.output(&format!(" - {line}"));
    }
}

fn document(name: &str, found: &[Difference], replaces: bool, replaced: &Replaced) -> Value {
    let found = found.iter().map(|difference| {
        json!({
            "member": difference.member,
            "now": difference.here,
            "file": difference.source,
        })
    });
    let found: Vec<Value> = found.collect();
    let mut document = json!({ "task": name, "replaced": replaces, "differences": found });
    for (member, value) in [("held", &replaced.held), ("run_id", &replaced.run)] {
        if let Some(value) = value {
            document[member] = json!(value);
        }
    }
    document
}

fn show(session: &mut Session<'_>, name: &str, found: &[Difference], width: TableWidth) {
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
    let text = table(["MEMBER", "NOW", "IN THE FILE"], rows, width);
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
