//! Resources and mistakes, read from the events of OpenTofu.

use std::fmt::Write as _;

use cts_proto::run::v1::{Diagnostic, DiagnosticSeverity, ResourceAction, ResourceCounts};
use serde::Deserialize;

use super::changes::Changes;
use super::found::Found;
use crate::commands::outputs::{ReportedOutputs, are_applied};

/// The events of one command.
#[derive(Default)]
pub(super) struct Events {
    pub(super) planned: Changes,
    pub(super) done: Changes,
    pub(super) found: Found,
    /// Outputs after an apply.
    pub(super) outputs: Option<ReportedOutputs>,
    begun: bool,
}

/// One event, with the members that cts uses.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    change: Option<Change>,
    hook: Option<Change>,
    changes: Option<Counts>,
    diagnostic: Option<Mistake>,
    outputs: Option<ReportedOutputs>,
}

#[derive(Deserialize)]
struct Change {
    resource: Resource,
    action: Option<String>,
}

#[derive(Deserialize)]
struct Resource {
    addr: String,
}

#[derive(Deserialize)]
struct Counts {
    add: u32,
    change: u32,
    #[serde(default)]
    import: u32,
    remove: u32,
    operation: String,
}

#[derive(Deserialize)]
struct Mistake {
    severity: String,
    summary: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    address: String,
    range: Option<Range>,
    snippet: Option<Snippet>,
}

#[derive(Deserialize)]
struct Range {
    filename: String,
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
}

#[derive(Deserialize)]
struct Snippet {
    code: String,
    start_line: u32,
    #[serde(default)]
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    traversal: String,
    statement: String,
}

impl Events {
    /// Reads one line. Unknown lines are ignored.
    pub(super) fn take(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            return;
        };
        let change = |change: Option<Change>| {
            let change = change?;
            let action = action(change.action.as_deref()?)?;
            Some((change.resource.addr, action))
        };
        match event.kind.as_str() {
            "version" => self.begun = true,
            "planned_change" => {
                if let Some((address, action)) = change(event.change) {
                    self.planned.add(&address, action);
                }
            }
            "apply_complete" => {
                if let Some((address, action)) = change(event.hook) {
                    self.done.add(&address, action);
                }
            }
            "change_summary" => {
                if let Some(counts) = event.changes {
                    let which = match counts.operation.as_str() {
                        "plan" => &mut self.planned,
                        _ => &mut self.done,
                    };
                    which.say(counts.into());
                }
            }
            "diagnostic" => {
                if let Some(mistake) = event.diagnostic {
                    let diagnostic = Diagnostic::from(mistake);
                    let which = match diagnostic.severity() {
                        DiagnosticSeverity::Error => &mut self.found.errors,
                        DiagnosticSeverity::Warning | DiagnosticSeverity::Unspecified => {
                            &mut self.found.warnings
                        }
                    };
                    which.keep(diagnostic);
                }
            }
            "outputs" => self.outputs = event.outputs.filter(are_applied),
            _ => {}
        }
    }

    /// Whether the events are complete from the first one on.
    pub(super) const fn are_whole(&self) -> bool {
        self.begun
    }
}

/// The action at a resource; `None` if the resource is only read, or forgotten.
fn action(word: &str) -> Option<ResourceAction> {
    Some(match word {
        "create" => ResourceAction::Create,
        "update" => ResourceAction::Update,
        "delete" => ResourceAction::Delete,
        "replace" => ResourceAction::Replace,
        "import" => ResourceAction::Import,
        _ => return None,
    })
}

impl From<Counts> for ResourceCounts {
    fn from(counts: Counts) -> Self {
        Self {
            added: counts.add,
            changed: counts.change,
            destroyed: counts.remove,
            imported: counts.import,
        }
    }
}

impl From<Mistake> for Diagnostic {
    fn from(mistake: Mistake) -> Self {
        let (file, line) = mistake
            .range
            .map(|range| (range.filename, range.start.line))
            .unzip();
        Self {
            severity: match mistake.severity.as_str() {
                "error" => DiagnosticSeverity::Error,
                "warning" => DiagnosticSeverity::Warning,
                _ => DiagnosticSeverity::Unspecified,
            }
            .into(),
            summary: mistake.summary,
            detail: mistake.detail,
            address: mistake.address,
            file: file.unwrap_or_default(),
            line: line.unwrap_or_default(),
            snippet: mistake.snippet.map(|it| it.text()).unwrap_or_default(),
        }
    }
}

impl Snippet {
    /// The text as in plain output.
    fn text(&self) -> String {
        let mut text = String::new();
        for (line, code) in (self.start_line..).zip(self.code.lines()) {
            let _infallible = writeln!(text, "{line:4}: {code}");
        }
        if !self.values.is_empty() {
            text.push_str("    ├────────────────\n");
        }
        for Value {
            traversal,
            statement,
        } in &self.values
        {
            let _infallible = writeln!(text, "    │ {traversal} {statement}");
        }
        text.truncate(text.trim_end().len());
        text
    }
}
