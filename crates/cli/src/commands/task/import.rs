//! `cts import` (docs/cli.md#cts-import): the tasks of another running instance, created here.

mod report;

use std::collections::{BTreeMap, BTreeSet};

use cts_api_client::{ApiClient, CallError, ClientSettings, ErrorForm, Task};
use cts_core::Chain;
use cts_core::hidden::HIDDEN;
use serde_json::{Map, Value, json};

use self::report::{Imported, Outcome, Report};
use super::differences::differences;
use super::replace::pending;
use super::session::{ExitStatus, PLAIN_TOKEN, Session};
use crate::arguments::{Import, SourceOptions};
use crate::commands::terminal_text::on_one_line;

pub(super) async fn run(session: &mut Session<'_>, import: &Import) -> Result<(), ExitStatus> {
    let here = session.client(&import.query.client)?;
    let source = source(session, &import.source)?;
    if source.is_plain_over_network() {
        session.ui.warning(
            "the tasks come from another host over plain HTTP: whoever is on the way can read and change them",
        );
    }
    if source.sends_token() && source.is_plain_over_network() {
        session.ui.warning(PLAIN_TOKEN);
    }
    let wanted = tasks(session, &source, "read the tasks to import").await?;
    let present = tasks(session, &here, "read the tasks that are here already").await?;
    let present: BTreeMap<&str, &Task> = present
        .iter()
        .map(|task| (task.name.as_str(), task))
        .collect();
    let mut report = Report::new(source.address(), import.dry_run);
    let mut seen = BTreeSet::new();
    let mut unreachable = None;
    for (index, task) in wanted.iter().enumerate() {
        let name = task.name.as_str();
        let outcome = match &unreachable {
            Some(reason) => Outcome::Failed(format!("not tried: {reason}")),
            None if !seen.insert(name) => {
                Outcome::Failed("the source names it more than once".to_owned())
            }
            None => {
                let mut step = Step {
                    session,
                    here: &here,
                    import,
                    position: format!("[{}/{}]", index + 1, wanted.len()),
                };
                let done = step.import(task, present.get(name).copied()).await;
                done.unwrap_or_else(|error| {
                    let reason = error.report(ErrorForm::New);
                    // A refusal is only about this task; any other error concerns the other tasks too.
                    if !matches!(error, CallError::Refused(_)) {
                        unreachable = Some(reason.clone());
                    }
                    Outcome::Failed(reason)
                })
            }
        };
        if let Outcome::Failed(reason) = &outcome {
            let name = on_one_line(name);
            session
                .ui
                .warning(&format!("'{name}' is not imported: {reason}"));
        }
        report.tasks.push(Imported {
            name: name.to_owned(),
            outcome,
        });
    }
    report.show(session, &import.query)
}

fn source(session: &mut Session<'_>, options: &SourceOptions) -> Result<ApiClient, ExitStatus> {
    let (settings, _no_warnings) = ClientSettings::resolve(&options.into(), &BTreeMap::new());
    ApiClient::new(&settings).map_err(|error| {
        let headline = "Error: unable to create a client for the source";
        session.fail(headline, &Chain(&error).to_string())
    })
}

async fn tasks(
    session: &mut Session<'_>,
    client: &ApiClient,
    what: &str,
) -> Result<Vec<Task>, ExitStatus> {
    client.tasks().await.map_err(|error| {
        let headline = format!("Error: unable to {what}");
        session.call_failed(&headline, &error)
    })
}

/// One task of the source.
struct Step<'a, 's> {
    session: &'a mut Session<'s>,
    here: &'a ApiClient,
    import: &'a Import,
    /// Among all tasks.
    position: String,
}

impl Step<'_, '_> {
    async fn import(&mut self, task: &Task, present: Option<&Task>) -> Result<Outcome, CallError> {
        let import = self.import;
        if task.destruction.is_some() {
            let reason = "it is being deleted at the source".to_owned();
            return Ok(Outcome::Failed(reason));
        }
        if !task.other.is_empty() {
            let members = task.other.keys().map(|name| on_one_line(name));
            let members: Vec<_> = members.collect();
            let reason = format!(
                "it has members that no task has here: {}",
                members.join(", ")
            );
            return Ok(Outcome::Failed(reason));
        }
        if let Some(reason) = lacks_secrets(task) {
            return Ok(Outcome::Failed(reason));
        }
        let differences = match present {
            None => Vec::new(),
            Some(present) => {
                let differences = differences(task, present, !import.disabled);
                match (differences.is_empty(), import.replace) {
                    (true, _) => return Ok(Outcome::Same),
                    (false, false) => return Ok(Outcome::Different(differences)),
                    (false, true) => differences,
                }
            }
        };
        for warning in warnings(task) {
            self.say(&task.name, &format!("warning: {warning}"));
        }
        let request = request(task, import.disabled);
        let runs = request["enabled"] == true;
        match (present.is_some(), import.dry_run) {
            (false, true) => Ok(Outcome::ToCreate),
            (true, true) => Ok(Outcome::ToReplace(differences)),
            (false, false) => {
                self.begin(&task.name, "creating", runs);
                let call = self.here.create_task(&request);
                let call = self
                    .session
                    .say_what_is_waited_for(self.here, &task.name, call);
                call.await.map(|_created| Outcome::Created)
            }
            (true, false) => {
                self.begin(&task.name, "replacing", runs);
                let call = self.here.replace_task(&task.name, &request, false, true);
                let call = self
                    .session
                    .say_what_is_waited_for(self.here, &task.name, call);
                let replaced = call.await?;
                if let Some(held) = &replaced.held {
                    self.say(&task.name, &pending(&task.name, held));
                }
                Ok(Outcome::Replaced(differences))
            }
        }
    }

    fn begin(&mut self, name: &str, doing: &str, runs: bool) {
        let how = if runs {
            " and running it"
        } else {
            " it disabled"
        };
        self.say(name, &format!("{doing}{how}..."));
    }

    fn say(&mut self, name: &str, text: &str) {
        let text = format!("{} '{}': {text}", self.position, on_one_line(name));
        self.session.ui.warning(&text);
    }
}

/// The task as a request has it.
fn request(task: &Task, disabled: bool) -> Map<String, Value> {
    let Value::Object(mut request) = json!(task) else {
        return Map::new();
    };
    if disabled {
        request.insert("enabled".to_owned(), false.into());
    }
    request
}

/// Why a task cannot be had from the source, which does not tell secrets.
fn lacks_secrets(task: &Task) -> Option<String> {
    let variables = task.variables.iter();
    let hidden = variables.filter(|(_name, text)| text.contains(HIDDEN));
    let names = hidden.map(|(name, _text)| format!("variable {name}"));
    let module = task.module.contains(HIDDEN).then(|| "module".to_owned());
    let places: Vec<String> = module.into_iter().chain(names).collect();
    let places = places.join(", ");
    let places = on_one_line(&places);
    (!places.is_empty()).then(|| {
        format!(
            "the source does not tell its secrets ({places}): create it here with the real ones"
        )
    })
}

/// Warnings about settings that the source shows only in part.
fn warnings(task: &Task) -> Vec<String> {
    let mut warnings = Vec::new();
    if task.module.starts_with("./") || task.module.starts_with("../") {
        let module = on_one_line(&task.module);
        warnings.push(format!(
            "the module {module} is looked for below the directory in which cts runs here"
        ));
    }
    let unsaid = task
        .buffer_period
        .as_ref()
        .filter(|period| period.enabled != Some(false) && period.max == "0s");
    if let Some(period) = unsaid {
        let min = on_one_line(&period.min);
        warnings.push(format!(
            "its buffer_period is {min} to {min} here; the source may have a default for max, which it does not show"
        ));
    }
    warnings
}
