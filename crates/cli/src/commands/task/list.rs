//! `cts task list`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use clap::ValueEnum as _;
use cts_api_client::{ApiClient, CallError, CurrentState, Task};
use cts_proto::json::Word as _;
use serde_json::{Map, Value, json};

use super::session::{ExitStatus, Session};
use super::state_text;
use crate::arguments::{ListTasks, Output, TableWidth, TaskColumn};
use crate::commands::table::table;

/// Shown for a task that was added after the request for statuses or states, or whose server does not send states.
const NOT_KNOWN: &str = "unknown";

/// A task with its status and state at one moment.
struct Listed {
    task: Task,
    status: String,
    state: Option<CurrentState>,
}

pub(super) async fn run(session: &mut Session<'_>, options: &ListTasks) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    if options.search.is_some() || options.page.is_some() {
        return page(session, &client, options).await;
    }
    let answers = async {
        let (tasks, mut statuses) = (client.tasks().await?, client.task_statuses().await?);
        // Earlier versions, and Consul-Terraform-Sync, do not have them.
        let mut states = match client.current_states().await {
            Err(error) if error.is_unsupported() && options.states.is_empty() => BTreeMap::new(),
            states => states?,
        };
        let listed = tasks.into_iter().map(|task| Listed {
            status: statuses
                .remove(&task.name)
                .map_or_else(|| NOT_KNOWN.to_owned(), |status| status.status),
            state: states.remove(&task.name),
            task,
        });
        Ok::<_, CallError>(listed.collect::<Vec<_>>())
    };
    let mut tasks = answers.await.map_err(|error| {
        let headline = "Error: unable to list the tasks";
        session.call_failed(headline, &error)
    })?;
    let is_empty = tasks.is_empty();
    tasks.retain(|task| task.fits(options));
    if let Some(column) = options.sort {
        tasks.sort_by(|one, other| one.order(other, column));
    }
    let text = match options.query.output {
        Output::Json => document(&tasks),
        Output::Table if tasks.is_empty() => {
            let none = if is_empty {
                "There are no tasks."
            } else {
                "There are no such tasks."
            };
            session.ui.note(none);
            return Ok(());
        }
        Output::Table => rows(&tasks, options.query.wide.width()),
    };
    session.ui.result(&text);
    Ok(())
}

/// Shows a page of the tasks, which the server picks and sorts.
async fn page(
    session: &mut Session<'_>,
    client: &ApiClient,
    options: &ListTasks,
) -> Result<(), ExitStatus> {
    let number = options.page.unwrap_or(1);
    let column = options.sort.and_then(|column| column.to_possible_value());
    let states = Some(options.states.join(",")).filter(|states| !states.is_empty());
    let mut parameters = vec![("page", number.to_string())];
    parameters.extend(options.search.clone().map(|text| ("search", text)));
    parameters.extend(states.map(|states| ("state", states)));
    parameters.extend(column.map(|column| ("sort", column.get_name().to_owned())));
    let answer = client.task_page(&parameters).await.map_err(|error| {
        let headline = "Error: unable to list the tasks";
        session.call_failed(headline, &error)
    })?;
    let table = || {
        let rows = answer.states.iter().map(|task| {
            let state = task.state.as_ref();
            let state = state.map_or_else(|| NOT_KNOWN.to_owned(), state_text::sentence);
            [task.task_name.clone(), state]
        });
        table(["NAME", "STATE"], rows, options.query.wide.width())
    };
    let text = options.query.output.text(table, || json!(answer));
    session.ui.result(&text);
    if answer.pages != 1 {
        let (pages, total) = (answer.pages, answer.total);
        let note = format!("Page {number} of {pages}, with {total} tasks in all.");
        session.ui.note(&note);
    }
    Ok(())
}

impl Listed {
    /// Whether the options leave the task in the list.
    fn fits(&self, options: &ListTasks) -> bool {
        let word = self.state.as_ref().map(|state| state.name().word());
        let is_state =
            options.states.is_empty() || word.is_some_and(|it| options.states.contains(&it));
        let text = options.filter.as_ref().map(|text| text.to_lowercase());
        let is_named = text.is_none_or(|text| {
            let fields = [
                &self.task.name,
                &trigger(&self.task.condition),
                &self.task.module,
            ];
            fields
                .iter()
                .any(|field| field.to_lowercase().contains(&text))
        });
        is_state && is_named
    }

    fn order(&self, other: &Self, column: TaskColumn) -> Ordering {
        let by_column = match column {
            TaskColumn::Name => Ordering::Equal,
            TaskColumn::State => self.state_name().cmp(&other.state_name()),
            // Tasks without a known time come last.
            TaskColumn::Since => other.since().cmp(&self.since()),
            TaskColumn::Status => self.status.cmp(&other.status),
            // As the words of the column: `no` before `yes`.
            TaskColumn::Enabled => self.task.enabled.cmp(&other.task.enabled),
            TaskColumn::Condition => {
                trigger(&self.task.condition).cmp(&trigger(&other.task.condition))
            }
            TaskColumn::Module => self.task.module.cmp(&other.task.module),
        };
        by_column.then_with(|| self.task.name.cmp(&other.task.name))
    }

    fn since(&self) -> Option<(i64, i32)> {
        let since = self.state.as_ref()?.since?;
        Some((since.seconds, since.nanos))
    }

    fn state_name(&self) -> String {
        let state = self.state.as_ref();
        state.map_or_else(|| NOT_KNOWN.to_owned(), |state| state_text::name(state))
    }
}

fn rows(tasks: &[Listed], width: TableWidth) -> String {
    let rows = tasks.iter().map(|listed| {
        let task = &listed.task;
        [
            task.name.clone(),
            listed.state_name(),
            listed.status.clone(),
            yes_or_no(task.enabled).to_owned(),
            trigger(&task.condition),
            task.module.clone(),
        ]
    });
    let header = ["NAME", "STATE", "STATUS", "ENABLED", "CONDITION", "MODULE"];
    table(header, rows, width)
}

fn document(tasks: &[Listed]) -> String {
    let tasks = tasks.iter().map(|listed| {
        let mut document = with_status(&listed.task, &listed.status);
        if let Some(state) = &listed.state {
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
