//! `cts task show`.

use cts_api_client::{CallError, Event, Task, TaskStatus};
use cts_core::runs::folded_error;
use cts_proto::task::v1::CurrentState;
use serde_json::json;

use super::events::result;
use super::list::{trigger, with_status, yes_or_no};
use super::release::held;
use super::session::{ExitStatus, Session};
use super::state_text;
use crate::arguments::{OneTask, Output};
use crate::commands::table::sheet;
use crate::commands::time_text::{duration, local};

pub(super) async fn run(session: &mut Session<'_>, wanted: &OneTask) -> Result<(), ExitStatus> {
    let OneTask { query, name } = wanted;
    let client = session.client(&query.client)?;
    let answers = async {
        let (task, status) = (client.task(name).await?, client.task_status(name).await?);
        // Earlier versions, and Consul-Terraform-Sync, do not have it.
        let explanation = client.explanation(name).await.ok();
        Ok::<_, CallError>((task, status, explanation))
    };
    let (task, status, explanation) = answers
        .await
        .map_err(|error| session.unanswered("show", name, &error))?;
    let state = explanation.and_then(|explanation| explanation.state.clone());
    let text = match query.output {
        Output::Table => sheet(entries(&task, &status, state.as_ref())),
        Output::Json => {
            let mut document = with_status(&task, &status.status);
            document["events"] = json!(status.events);
            if let Some(hold) = &status.hold {
                document["hold"] = json!(hold);
            }
            if let Some(state) = &state {
                document["state"] = json!(state);
            }
            format!("{document:#}\n")
        }
    };
    session.ui.result(&text);
    Ok(())
}

fn entries(
    task: &Task,
    status: &TaskStatus,
    state: Option<&CurrentState>,
) -> Vec<(&'static str, String)> {
    let variables = task.variables.iter();
    let variables: Vec<String> = variables
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let optional = [
        ("Description", task.description.clone()),
        ("Module", task.module.clone()),
        ("Version", task.version.clone()),
        ("Condition", trigger(&task.condition)),
        ("Module input", trigger(&task.module_input)),
        ("Providers", task.providers.join(", ")),
        ("Variables", variables.join("\n")),
        ("Buffer period", buffer_period(task)),
    ];
    let mut entries = vec![("Name", task.name.clone())];
    entries.extend(state.map(|state| ("State", state_text::sentence(state))));
    entries.extend([
        ("Status", status.status.clone()),
        ("Enabled", yes_or_no(task.enabled).to_owned()),
    ]);
    if task.is_suspended() {
        let name = &task.name;
        let text = format!("destruction suspended; `cts task delete {name}` goes on with it");
        entries.push(("Deletion", text));
    }
    let hold = status.hold.as_ref();
    entries.extend(hold.map(|hold| ("Blocked", held(hold))));
    entries.extend(optional.into_iter().filter(|(_, value)| !value.is_empty()));
    match status.events.first() {
        None => entries.push(("Last run", "none yet".to_owned())),
        Some(event) => entries.extend(last_run(event)),
    }
    entries
}

/// When and how a task ran last, and why that failed.
pub(super) fn last_run(event: &Event) -> Vec<(&'static str, String)> {
    let took = duration(event.end_time - event.start_time);
    let began = local(event.start_time);
    let mut entries = vec![(
        "Last run",
        format!("{}, began {began}, took {took}", result(event)),
    )];
    if let Some(url) = &event.remote_url {
        entries.push(("Remote run", url.clone()));
    }
    if let Some(error) = &event.error {
        entries.push(("Error", folded_error(&error.message)));
    }
    entries
}

fn buffer_period(task: &Task) -> String {
    match &task.buffer_period {
        None => String::new(),
        Some(period) if period.enabled == Some(false) => "none".to_owned(),
        Some(period) => format!("at least {}, at most {}", period.min, period.max),
    }
}
