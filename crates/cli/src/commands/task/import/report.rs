//! Result of an import.

use serde_json::{Value, json};

use crate::arguments::{Output, QueryOptions, TableWidth};
use crate::commands::table::table;
use crate::commands::task::differences::Difference;
use crate::commands::task::session::{ExitStatus, Session};

/// All tasks of the source, in order.
#[derive(Debug)]
pub(super) struct Report {
    source: String,
    dry_run: bool,
    pub(super) tasks: Vec<Imported>,
}

/// A task of the source.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// Outcome for one task.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The task would be created.
    ToCreate,
    Created,
    /// The task would replace a different one.
    ToReplace(Vec<Difference>),
    Replaced(Vec<Difference>),
    /// An equal task was here already.
    Same,
    /// A different task with the same name is here, and is kept.
    Different(Vec<Difference>),
    /// With the reason.
    Failed(String),
}

/// Every result, in the order of the summary.
const RESULTS: [&str; 7] = [
    "to create",
    "created",
    "to replace",
    "replaced",
    "same",
    "different",
    "failed",
];

impl Outcome {
    const fn result(&self) -> &'static str {
        match self {
            Self::ToCreate => "to create",
            Self::Created => "created",
            Self::ToReplace(_) => "to replace",
            Self::Replaced(_) => "replaced",
            Self::Same => "same",
            Self::Different(_) => "different",
            Self::Failed(_) => "failed",
        }
    }

    /// Whether the task differs, or would differ, from the task at the source.
    const fn is_missing(&self) -> bool {
        matches!(self, Self::Different(_) | Self::Failed(_))
    }

    fn differences(&self) -> &[Difference] {
        match self {
            Self::ToReplace(differences)
            | Self::Replaced(differences)
            | Self::Different(differences) => differences,
            _ => &[],
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// For a table; the reason was shown in full before.
    fn details(&self) -> String {
        let members = self.differences().iter();
        let members: Vec<&str> = members.map(|found| found.member.as_str()).collect();
        match self.reason() {
            Some(reason) => reason.lines().next().unwrap_or_default().to_owned(),
            None => members.join(", "),
        }
    }
}

impl Report {
    pub(super) const fn new(source: String, dry_run: bool) -> Self {
        Self {
            source,
            dry_run,
            tasks: Vec::new(),
        }
    }

    /// Prints the report, and fails if a task differs from the task at the source.
    pub(super) fn show(
        &self,
        session: &mut Session<'_>,
        query: &QueryOptions,
    ) -> Result<(), ExitStatus> {
        match query.output {
            Output::Json => session.ui.result(&format!("{:#}\n", self.document())),
            Output::Table if self.tasks.is_empty() => {
                session.ui.note("The source has no tasks.");
            }
            Output::Table => {
                session.ui.result(&self.rows(query.wide.width()));
                let counts: Vec<String> = self
                    .counts()
                    .map(|(result, count)| format!("{count} {result}"))
                    .collect();
                session.ui.note(&counts.join(", "));
            }
        }
        let missing = self.tasks.iter().filter(|task| task.outcome.is_missing());
        let missing = missing.count();
        if missing == 0 {
            return Ok(());
        }
        let all = self.tasks.len();
        let headline = format!("Error: not here as at the source: {missing} of {all}");
        Err(session.fail(&headline, ""))
    }

    fn rows(&self, width: TableWidth) -> String {
        let rows = self.tasks.iter().map(|task| {
            let outcome = &task.outcome;
            [
                task.name.clone(),
                outcome.result().to_owned(),
                outcome.details(),
            ]
        });
        table(["TASK", "RESULT", "DETAILS"], rows, width)
    }

    /// The results that there are.
    fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let count = |result| {
            let tasks = self.tasks.iter();
            tasks.filter(|task| task.outcome.result() == result).count()
        };
        RESULTS
            .iter()
            .map(move |result| (*result, count(*result)))
            .filter(|(_, count)| *count > 0)
    }

    fn document(&self) -> Value {
        let tasks = self.tasks.iter().map(|task| {
            let outcome = &task.outcome;
            let differences = outcome.differences().iter();
            let differences: Vec<Value> = differences
                .map(|found| {
                    json!({"member": found.member, "source": found.source, "here": found.here})
                })
                .collect();
            json!({
                "name": task.name,
                "result": key(outcome.result()),
                "reason": outcome.reason(),
                "differences": differences,
            })
        });
        let counts = self.counts();
        let counts: serde_json::Map<String, Value> = counts
            .map(|(result, count)| (key(result), count.into()))
            .collect();
        json!({
            "source": self.source,
            "dry_run": self.dry_run,
            "counts": counts,
            "tasks": tasks.collect::<Vec<_>>(),
        })
    }
}

/// A result as programs get it.
fn key(result: &str) -> String {
    result.replace(' ', "_")
}
