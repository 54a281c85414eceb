//! The rule of consent in force for a task.

use std::collections::BTreeMap;

use cts_core::{ApprovalDefaults, ApprovalRule, FileRule, RunId, TaskSpec};

use crate::details::plan_summary::PlanSummary;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// The rule in force for a task, from its `spec`, the `defaults` in force and the `deleted_rule` of its name.
pub(super) fn rule_in_force(task: &Fields<'_>) -> Result<ApprovalRule, StoreError> {
    let defaults: Option<ApprovalDefaults> = task.json_if_any("defaults")?;
    let deleted = match task.text_if_any("deleted_rule")? {
        None => None,
        Some(rule) => {
            let corrupt = |error| task.cell("approval").corrupt(error);
            Some(rule.parse().map_err(corrupt)?)
        }
    };
    let spec: TaskSpec = task.json("spec")?;
    let own = spec.file_settings.approval;
    let files = defaults.unwrap_or_default().rule_of(own, deleted);
    Ok(files.in_force(spec.api_approval))
}

/// The rules of the files that are in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRules {
    /// The keys of the top level.
    pub defaults: ApprovalDefaults,
    /// Rules of configured tasks that the API has deleted, by name.
    pub deleted: BTreeMap<String, ApprovalRule>,
}

impl FileRules {
    /// The rule of the files for a task.
    pub fn of(&self, task: &TaskSpec) -> FileRule {
        let deleted = self.deleted.get(task.name().as_str()).copied();
        (self.defaults).rule_of(task.file_settings.approval, deleted)
    }
}

/// Name and rule of a configured task that the API has deleted. For implementations.
pub fn deleted_rule(row: &dyn Columns) -> Result<(String, ApprovalRule), StoreError> {
    let row = Fields::new(row, "read rules", "deleted_tasks").keyed("name")?;
    Ok((row.key().to_owned(), row.parse("approval")?))
}

/// Reads the columns of the rule in force for a task. For implementations.
pub fn read_rule(row: &dyn Columns) -> Result<ApprovalRule, StoreError> {
    rule_in_force(&Fields::new(row, "read a rule of approval", "tasks"))
}

/// Reads a run that waits, with the columns of the rule in force and the `summary` of its plan, and returns the run if
/// its effect needs no consent. For implementations.
pub fn needs_no_consent(row: &dyn Columns) -> Result<Option<RunId>, StoreError> {
    let operation = "read effects that need consent";
    let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
    let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
    let summary: PlanSummary = run.json("summary")?;
    let asks = summary.facts().need_consent(rule_in_force(&task)?);
    Ok(if asks { None } else { Some(run.id("id")?) })
}
