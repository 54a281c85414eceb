//! Checks of a task's values, wherever the task is declared: in a file or in a request.
//!
//! Each check gives the text of the problem; the caller has its place.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::OUTPUTS_KEPT;
use cts_core::{
    BufferPeriod, BufferSetting, Chain, Condition, CronExpression, InvalidCron, ProviderId, Regexp,
    TaskName,
};

/// The error for a task without a module.
pub(crate) const EMPTY_MODULE: &str = "module for the task is required: `module` must not be empty";

/// The error for a condition on services without any.
pub(crate) const NO_SERVICES: &str = "either the regexp or names field must be configured";

/// The error for a condition on services with an empty name.
pub(crate) const EMPTY_SERVICE: &str =
    "names field includes empty string(s). services names cannot be empty";

/// The error for an expression over the names of services in a condition or an input.
pub(crate) const SERVICES_REGEXP: &str = "unable to compile services regexp";

/// The error for an expression of a condition on the catalog.
pub(crate) const CATALOG_REGEXP: &str = "unable to compile catalog-services 'regexp'";

/// The error for a condition on the catalog without its expression.
pub(crate) const NO_REGEXP: &str =
    "catalog-services condition 'regexp' field must be set; \".*\" takes every service";

/// A regular expression of the original's syntax; the text of the problem begins with `failure`.
pub(crate) fn regexp(text: &str, failure: &str) -> Result<(), String> {
    let checked = Regexp::new(text).map(drop);
    checked.map_err(|error| {
        let error = Chain(&error);
        format!("{failure}: `regexp` is no regular expression: {error}")
    })
}

/// The error for a setting of the task `task` that only the other driver has, or for `part` of it.
pub(crate) fn only_in_cloud(setting: &str, part: &str, task: &str) -> String {
    format!(
        "unsupported configuration '{setting}' for task \"{task}\": `{part}` of a task is for the driver \
         `terraform-cloud`, which is not configured"
    )
}

/// A cron expression that fires again after `now`. An expression that can never fire again keeps the original
/// busy without end (docs/compatibility.md).
pub(crate) fn cron(text: &str, now: DateTime<Utc>) -> Result<(), String> {
    let reason = match CronExpression::parse(text) {
        Ok(expression) if expression.next_after(&now).is_some() => return Ok(()),
        Ok(_) => "it never fires again: its last time has passed".to_owned(),
        Err(InvalidCron::Empty) => return Err(NO_CRON.to_owned()),
        Err(error) => Chain(&error).to_string(),
    };
    Err(format!(
        "unable to parse schedule condition's cron config {text:?}: {reason}"
    ))
}

/// The error for a schedule without its expression.
pub(crate) const NO_CRON: &str = "cron config is required for schedule condition";

/// The path of a condition on keys.
pub(crate) fn path(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(NO_PATH.to_owned());
    }
    Ok(())
}

/// The error for a condition on keys without a path.
pub(crate) const NO_PATH: &str =
    "path is required for consul-kv condition: `path` must not be empty";

/// Both are about the same variable of the module, which must not be.
pub(crate) fn same_variable(first: &str, second: &str, variable: &str) -> String {
    if first == second {
        format!("more than one `module_input` for the variable `{variable}`")
    } else {
        format!(
            "{first} and {second} both monitor \"{variable}\" variable type. condition and module_input variable \
             type must be unique"
        )
    }
}

/// The buffer period of a task that declares `setting`, as answers show it and as it is in force. A schedule is never
/// buffered (`docs/configuration.md#buffer_period`).
pub(crate) fn buffer_period(
    global: BufferPeriod,
    setting: Option<BufferSetting>,
    condition: &Condition,
) -> (Option<BufferSetting>, BufferPeriod) {
    if !matches!(condition, Condition::Schedule(_)) {
        return (setting, global.refine(setting.unwrap_or_default()));
    }
    let off = BufferSetting {
        enabled: Some(false),
        min: Some(Duration::ZERO),
        max: Some(Duration::ZERO),
    };
    (Some(off), BufferPeriod::DISABLED)
}

/// The providers of a task, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Providers(HashSet<ProviderId>);

impl Providers {
    /// The next one; with the text of a problem, unless it is empty, it counts nevertheless.
    pub(crate) fn read(&mut self, text: &str) -> (Option<ProviderId>, Result<(), String>) {
        if text.is_empty() {
            let problem = "`providers` includes an empty string".to_owned();
            return (None, Err(problem));
        }
        let id = ProviderId::from(text);
        let checked = if self.0.insert(id.clone()) {
            Ok(())
        } else {
            Err(listed_twice(&id))
        };
        (Some(id), checked)
    }
}

/// Instances of a provider of which the task may have only one. Modules whose files are known may have several.
pub(crate) fn listed_twice(id: &ProviderId) -> String {
    format!(
        "only one provider instance per task: provider `{}` is listed twice",
        id.name
    )
}

/// Outputs of a task, at most: as many as runs keep.
pub(crate) const OUTPUTS: usize = OUTPUTS_KEPT;

/// The names of outputs of a task, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Outputs(HashSet<String>);

impl Outputs {
    /// The next one; the error is the text of a problem.
    pub(crate) fn read(&mut self, name: &str) -> Result<(), String> {
        if !is_identifier(name) {
            return Err(format!(
                "`outputs` includes {name:?}, which is no name of Terraform: a letter or an underscore, then letters, digits, \
                 underscores and hyphens"
            ));
        }
        if !self.0.insert(name.to_owned()) {
            return Err(format!("`outputs` names {name:?} twice"));
        }
        if self.0.len() == OUTPUTS + 1 {
            return Err(format!("`outputs` has more than {OUTPUTS} names"));
        }
        Ok(())
    }
}

/// Names of outputs follow the rules of task names: both stand bare in the root module.
fn is_identifier(name: &str) -> bool {
    TaskName::new(name).is_ok()
}
