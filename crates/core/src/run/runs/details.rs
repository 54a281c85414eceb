//! Details of an attempt, parsed by its worker from Terraform's output: counts, changes, diagnostics and times.
//!
//! All these texts come from outside, so they are bounded at every source: [`RunDetails::bounded`].
//!
//! Numbers and times are stored in `runs.summary`, changes and diagnostics in `runs.findings`, which lists leave out.

use std::fmt;
use std::mem;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::remote::bounded_url;

/// Maximum number of stored changes of one run; further changes are only counted.
pub const CHANGES_KEPT: usize = 200;

/// Maximum number of stored diagnostics of one run; further diagnostics are only counted.
pub const DIAGNOSTICS_KEPT: usize = 20;

/// Maximum number of outputs of one run.
pub const OUTPUTS_KEPT: usize = 32;

/// Longest value of an output, in bytes of JSON.
const VALUE_BYTES: usize = 4096;

/// Longest address or file name, in bytes.
const NAME_BYTES: usize = 512;

/// Longest summary of a diagnostic, in bytes.
const SUMMARY_BYTES: usize = 1024;

/// Longest detail or snippet of a diagnostic, in bytes.
const TEXT_BYTES: usize = 4096;

/// Replaces the rest of a text that was cut.
const CUT: &str = "…";

/// Details of an attempt, reported by its worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunDetails {
    /// Part that lists of runs show too.
    pub summary: RunSummary,
    /// Part that lists of runs leave out.
    pub findings: RunFindings,
}

/// Maximum bytes of a code or a version.
const LONGEST_CODE: usize = 64;

/// Numbers of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSummary {
    /// Resources that an apply changed or a plan would change; `None` if Terraform did neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceCounts>,
    /// Durations of its steps.
    pub phases: PhaseTimes,
    /// Address of the remote run, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<String>,
    /// Code of the error, if the attempt failed; a code of a later version may be unknown here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Version of the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_version: Option<String>,
}

/// Numbers of resources. A replaced resource counts as added and destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceCounts {
    /// Created.
    pub added: u32,
    /// Updated in place.
    pub changed: u32,
    /// Destroyed.
    pub destroyed: u32,
    /// Imported into the state.
    pub imported: u32,
}

impl fmt::Display for ResourceCounts {
    /// Written as `+2 ~1 -0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            added,
            changed,
            destroyed,
            imported,
        } = self;
        write!(f, "+{added} ~{changed} -{destroyed}")?;
        if *imported > 0 {
            write!(f, " imported {imported}")?;
        }
        Ok(())
    }
}

impl PhaseTimes {
    /// The total time of all steps.
    pub fn total(&self) -> Duration {
        [self.render, self.init, self.validate, self.plan, self.apply]
            .into_iter()
            .flatten()
            .sum()
    }
}

/// Durations of the steps of an attempt; `None` for a step that did not begin. Stored in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseTimes {
    /// Everything before Terraform: input, module, values and files.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub render: Option<Duration>,
    /// `terraform init`.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub init: Option<Duration>,
    /// `terraform validate`.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub validate: Option<Duration>,
    /// `terraform plan`.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub plan: Option<Duration>,
    /// `terraform apply`.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub apply: Option<Duration>,
}

/// Terraform's report on resources and problems.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFindings {
    /// Resources that were changed or would be changed; at most [`CHANGES_KEPT`], in Terraform's order.
    pub changes: Vec<ResourceChange>,
    /// Number of further changes.
    pub more_changes: u32,
    /// Errors and warnings; at most [`DIAGNOSTICS_KEPT`].
    pub diagnostics: Vec<Diagnostic>,
    /// Number of further diagnostics.
    pub more_diagnostics: u32,
    /// Outputs of the module that the task selects, after an apply; at most [`OUTPUTS_KEPT`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<RunOutput>,
}

/// An output of the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(flatten)]
    pub value: OutputValue,
}

/// The value of an output, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputValue {
    /// The value, as in Terraform's JSON.
    Value(Value),
    /// The module declares the output as sensitive.
    Sensitive(bool),
    /// The value is too long to be stored.
    TooLong(bool),
}

/// A resource that was changed or would be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// Its address in the root module.
    pub address: String,
    /// Action on the resource.
    pub action: ResourceAction,
}

/// Action on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceAction {
    /// The resource is created.
    Create,
    /// The resource is changed in place.
    Update,
    /// The resource is destroyed.
    Delete,
    /// The resource is destroyed and created again, in any order.
    Replace,
    /// The resource is imported into the state.
    Import,
    /// An action of a newer version.
    #[serde(other)]
    Unknown,
}

/// An error or a warning of Terraform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Severity of the diagnostic.
    pub severity: Severity,
    /// Problem, in one line.
    pub summary: String,
    /// The complete description of the problem; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The affected resource; empty without a resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// The affected file, as Terraform names it; empty without a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line of the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The affected lines of the file; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub snippet: String,
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The command has failed.
    Error,
    /// The command has not failed.
    Warning,
    /// A severity of a newer version.
    #[serde(other)]
    Unknown,
}

impl ResourceCounts {
    /// Counts one resource.
    pub const fn count(&mut self, action: ResourceAction) {
        let (first, second) = match action {
            ResourceAction::Create => (&mut self.added, None),
            ResourceAction::Update => (&mut self.changed, None),
            ResourceAction::Delete => (&mut self.destroyed, None),
            ResourceAction::Replace => (&mut self.added, Some(&mut self.destroyed)),
            ResourceAction::Import => (&mut self.imported, None),
            ResourceAction::Unknown => return,
        };
        *first = first.saturating_add(1);
        if let Some(second) = second {
            *second = second.saturating_add(1);
        }
    }
}

impl ResourceAction {
    /// The spelling of Terraform, the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Import => "import",
            Self::Unknown => "unknown",
        }
    }
}

impl RunDetails {
    /// Returns the details with every text passed through `edit`, which may remove parts of a text.
    #[must_use]
    pub fn edited(mut self, edit: impl Fn(&str) -> String) -> Self {
        let url = self.summary.remote_url.as_deref();
        self.summary.remote_url = url.map(&edit);
        for change in &mut self.findings.changes {
            change.address = edit(&change.address);
        }
        for diagnostic in &mut self.findings.diagnostics {
            for text in [
                &mut diagnostic.summary,
                &mut diagnostic.detail,
                &mut diagnostic.address,
                &mut diagnostic.file,
                &mut diagnostic.snippet,
            ] {
                *text = edit(text);
            }
        }
        for output in &mut self.findings.outputs {
            if let OutputValue::Value(value) = &mut output.value {
                edit_value(value, &edit);
            }
        }
        self
    }

    /// Returns the part of the details that is stored: less than 600 KiB for any output of Terraform. Details within
    /// the bounds stay unchanged.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let url = self.summary.remote_url.as_deref();
        self.summary.remote_url = url.map(bounded_url);
        let code = self.summary.error_code.take();
        self.summary.error_code = code.filter(|code| code.len() <= LONGEST_CODE);
        let version = self.summary.worker_version.take();
        self.summary.worker_version = version.filter(|version| version.len() <= LONGEST_CODE);
        let findings = &mut self.findings;
        cut_list(
            &mut findings.changes,
            CHANGES_KEPT,
            &mut findings.more_changes,
        );
        cut_list(
            &mut findings.diagnostics,
            DIAGNOSTICS_KEPT,
            &mut findings.more_diagnostics,
        );
        for change in &mut findings.changes {
            cut_text(&mut change.address, NAME_BYTES);
        }
        for diagnostic in &mut findings.diagnostics {
            cut_text(&mut diagnostic.summary, SUMMARY_BYTES);
            cut_text(&mut diagnostic.detail, TEXT_BYTES);
            cut_text(&mut diagnostic.address, NAME_BYTES);
            cut_text(&mut diagnostic.file, NAME_BYTES);
            cut_text(&mut diagnostic.snippet, TEXT_BYTES);
        }
        findings.outputs.truncate(OUTPUTS_KEPT);
        for output in &mut findings.outputs {
            cut_text(&mut output.name, NAME_BYTES);
            if let OutputValue::Value(value) = &output.value
                && value.to_string().len() > VALUE_BYTES
            {
                output.value = OutputValue::TooLong(true);
            }
        }
        self
    }
}

/// Passes every text of a value through `edit`, including names of members and numbers.
fn edit_value(value: &mut Value, edit: &impl Fn(&str) -> String) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            let text = number.to_string();
            let edited = edit(&text);
            if edited != text {
                *value = Value::String(edited);
            }
        }
        Value::String(text) => *text = edit(text),
        Value::Array(elements) => {
            for element in elements {
                edit_value(element, edit);
            }
        }
        Value::Object(members) => {
            let edited = mem::take(members).into_iter().map(|(name, mut member)| {
                edit_value(&mut member, edit);
                (edit(&name), member)
            });
            *members = edited.collect();
        }
    }
}

fn cut_list<T>(list: &mut Vec<T>, longest: usize, more: &mut u32) {
    let surplus = list.len().saturating_sub(longest);
    list.truncate(longest);
    *more = more.saturating_add(u32::try_from(surplus).unwrap_or(u32::MAX));
}

fn cut_text(text: &mut String, longest: usize) {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest - CUT.len()));
        text.push_str(CUT);
    }
}

/// Durations as numbers of milliseconds.
pub(super) mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "what serde calls")]
    pub(in crate::run::runs) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            .serialize(serializer)
    }

    pub(in crate::run::runs) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

#[cfg(test)]
mod tests;
