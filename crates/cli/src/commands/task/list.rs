//! `cts task list`.

use std::collections::BTreeMap;

use cts_api_client::{CallError, CurrentState, Task, TaskStatus};
use serde_json::{Map, Value, json};

use super::session::{ExitStatus, Session};
use super::state_text;
use super::table::table;
use crate::arguments::{Output, QueryOptions};

/// The status or state of a task that came after these were asked for, or whose server does not send states.
const NOT_KNOWN: &str = "unknown";

pub(super) async fn run(session: &mut Session<'_>, query: &QueryOptions) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let answers = async {
        let (tasks, statuses) = (client.tasks().await?, client.task_statuses().await?);
        // Earlier versions, and Consul-Terraform-Sync, do not have them.
        let states = match client.current_states().await {
            Err(error) if error.is_unsupported() => BTreeMap::new(),
            states => states?,
        };
        Ok::<_, CallError>((tasks, statuses, states))
    };
    let (tasks, statuses, states) = answers.await.map_err(|error| {
        let headline = "Error: unable to list the tasks";
        session.call_failed(headline, &error)
    })?;
    let text = match query.output {
        Output::Json => document(&tasks, &statuses, &states),
        Output::Table if tasks.is_empty() => {
            session.ui.note("There are no tasks.");
            return Ok(());
        }
        Output::Table => rows(&tasks, &statuses, &states),
    };
    session.ui.result(&text);
    Ok(())
}

fn status<'a>(task: &Task, statuses: &'a BTreeMap<String, TaskStatus>) -> &'a str {
    statuses
        .get(&task.name)
        .map_or(NOT_KNOWN, |status| status.status.as_str())
}

fn rows(
    tasks: &[Task],
    statuses: &BTreeMap<String, TaskStatus>,
    states: &BTreeMap<String, CurrentState>,
) -> String {
    let rows = tasks.iter().map(|task| {
        let state = states.get(&task.name);
        [
            task.name.clone(),
            state.map_or_else(|| NOT_KNOWN.to_owned(), |state| state_text::name(state)),
            status(task, statuses).to_owned(),
            yes_or_no(task.enabled).to_owned(),
            trigger(&task.condition),
            task.module.clone(),
        ]
    });
    table(
        ["NAME", "STATE", "STATUS", "ENABLED", "CONDITION", "MODULE"],
        rows,
    )
}

fn document(
    tasks: &[Task],
    statuses: &BTreeMap<String, TaskStatus>,
    states: &BTreeMap<String, CurrentState>,
) -> String {
    let tasks = tasks.iter().map(|task| {
        let mut document = with_status(task, status(task, statuses));
        if let Some(state) = states.get(&task.name) {
            document["state"] = json!(state);
        }
        document
    });
    let tasks: Vec<Value> = tasks.collect();
    format!("{:#}\n", json!({ "tasks": tasks }))
}

/// The task as the API shows it, with its status.
pub(super) fn with_status(task: &Task, status: &str) -> Value {
    let mut value = json!(task);
    value["status"] = status.into();
    value
}

pub(super) const fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// A condition, or a module input, in a few words: `services: api, web`, `schedule: 0 4 * * *`. Empty
/// without any.
pub(super) fn trigger(condition: &Map<String, Value>) -> String {
    let kinds = condition.iter().map(|(kind, content)| {
        let text = |key: &str| content[key].as_str().unwrap_or_default();
        let said = match kind.as_str() {
            "services" => match content["names"].as_array() {
                Some(names) if !names.is_empty() => {
                    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                    names.join(", ")
                }
                _ => format!("/{}/", text("regexp")),
            },
            "catalog_services" => format!("/{}/", text("regexp")),
            "consul_kv" => text("path").to_owned(),
            "schedule" => text("cron").to_owned(),
            _ => content.to_string(),
        };
        format!("{}: {said}", kind.replace('_', "-"))
    });
    kinds.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_condition_is_told_in_a_few_words() {
        let cases = [
            (json!({}), ""),
            (
                json!({"services": {"names": ["api", "web"]}}),
                "services: api, web",
            ),
            (
                json!({"services": {"regexp": "^web", "names": []}}),
                "services: /^web/",
            ),
            (json!({"services": {"regexp": ""}}), "services: //"),
            (
                json!({"catalog_services": {"regexp": ".*"}}),
                "catalog-services: /.*/",
            ),
            (
                json!({"consul_kv": {"path": "a/b", "recurse": true}}),
                "consul-kv: a/b",
            ),
            (
                json!({"schedule": {"cron": "0 4 * * *"}}),
                "schedule: 0 4 * * *",
            ),
            (json!({"moon": {"phase": 1}}), "moon: {\"phase\":1}"),
            (
                json!({"consul_kv": {"path": "a"}, "services": {"names": ["b"]}}),
                "consul-kv: a; services: b",
            ),
        ];
        for (condition, expected) in cases {
            let condition = condition.as_object().unwrap();
            assert_eq!(trigger(condition), expected);
        }
    }
}
