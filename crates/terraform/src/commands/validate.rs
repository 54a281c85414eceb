//! `terraform validate` and its diagnostics (docs/terraform.md#output-and-errors).

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use cts_core::Digest;
use serde::Deserialize;

use crate::attempt::Attempt;
use crate::commands::outcome::{exit_error, failed};
use crate::commands::terraform::Terraform;
use crate::error::{CommandError, CommandFailure, asks_for_init, summaries};
use crate::output::Discard;
use crate::process::StdoutUse;
use crate::step::Step;

/// The output of `validate -json`; the parts that are used.
#[derive(Debug, Deserialize)]
struct Report {
    valid: bool,
    #[serde(default)]
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    severity: String,
    summary: String,
    #[serde(default)]
    detail: String,
    range: Option<Range>,
    snippet: Option<Snippet>,
}

#[derive(Debug, Deserialize)]
struct Range {
    filename: String,
    start: Position,
}

#[derive(Debug, Deserialize)]
struct Position {
    line: u64,
}

#[derive(Debug, Deserialize)]
struct Snippet {
    context: Option<String>,
    code: String,
}

impl Terraform {
    /// Runs `terraform validate`. Warnings go to the log.
    pub async fn validate(&self, attempt: &Attempt) -> Result<(), CommandError> {
        let report = self.report(attempt).await?;
        for diagnostic in &report.diagnostics {
            if !diagnostic.is_error() {
                tracing::warn!(task = %attempt.task, "{}", diagnostic.text(attempt));
            }
        }
        if report.valid {
            return Ok(());
        }
        let errors: Vec<_> = report.errors().map(|error| error.text(attempt)).collect();
        let diagnostics = errors.join("\n");
        Err(failed(
            attempt,
            Step::Validate,
            CommandFailure::Invalid { diagnostics },
        ))
    }

    /// Whether `terraform validate` finds each error that `init` has written to `stderr`: a further `init` would find
    /// these errors again. If a module or provider could not be fetched, `validate` requires `init`, and that error
    /// confirms nothing.
    pub(crate) async fn validate_confirms(&self, attempt: &Attempt, stderr: &str) -> bool {
        let quiet = Attempt {
            output: Arc::new(Discard),
            ..attempt.clone()
        };
        let Ok(report) = self.report(&quiet).await else {
            return false;
        };
        let found: HashSet<_> = report
            .errors()
            .filter(|error| !asks_for_init(&error.detail))
            .map(|error| error.summary.as_str())
            .collect();
        let mut reported = summaries(stderr).peekable();
        reported.peek().is_some() && reported.all(|summary| found.contains(summary))
    }

    async fn report(&self, attempt: &Attempt) -> Result<Report, CommandError> {
        let ended = self
            .run(attempt, Step::Validate, StdoutUse::Captured)
            .await?;
        // An invalid configuration ends with code 1, and so do many other failures: the report decides.
        let report = match ended.status.code() {
            Some(0 | 1) => serde_json::from_str::<Report>(&ended.stdout).ok(),
            _ => None,
        };
        report.ok_or_else(|| exit_error(attempt, Step::Validate, ended))
    }

    /// Whether a root module of this shape was found valid in this process.
    pub(crate) fn is_known_valid(&self, shape: Digest) -> bool {
        self.validated.lock().contains(&shape)
    }

    /// Remembers that root modules of this shape are valid.
    pub(crate) fn remember_valid(&self, shape: Digest) {
        self.validated.lock().insert(shape);
    }
}

impl Report {
    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let diagnostics = self.diagnostics.iter();
        diagnostics.filter(|diagnostic| diagnostic.is_error())
    }
}

impl Diagnostic {
    fn is_error(&self) -> bool {
        self.severity == "error"
    }

    /// Severity and summary; place; code; detail.
    fn text(&self, attempt: &Attempt) -> String {
        let mut text = match self.severity.as_str() {
            "error" => "Error: ".to_owned(),
            "warning" => "Warning: ".to_owned(),
            other => format!("{other}: "),
        };
        text.push_str(&self.summary);
        text.push('\n');
        if let Some(Range { filename, start }) = &self.range {
            text.push_str(&format_place(filename, start.line, self.snippet.as_ref()));
        }
        let detail = self
            .module_detail(attempt)
            .unwrap_or_else(|| self.detail.clone());
        if !detail.is_empty() {
            text.push('\n');
            text.push_str(&detail);
            text.push('\n');
        }
        text
    }

    /// A detail that points at the module, if Terraform's own detail points at the generated call.
    fn module_detail(&self, attempt: &Attempt) -> Option<String> {
        let unexpected = |name: &str| {
            self.detail == format!("An argument named \"{name}\" is not expected here.")
        };
        let inputs = [
            (
                "services",
                "Every module for Consul-Terraform-Sync must have it.",
            ),
            (
                "catalog_services",
                "Declare it, or set use_as_module_input = false in the task's catalog-services condition.",
            ),
            (
                "consul_kv",
                "Declare it, or set use_as_module_input = false in the task's consul-kv condition.",
            ),
        ];
        let (variable, advice) = inputs
            .into_iter()
            .find(|(variable, _)| unexpected(variable))?;
        let task = &attempt.task;
        Some(format!(
            "module for task \"{task}\" is missing the \"{variable}\" variable. {advice}"
        ))
    }
}

fn format_place(filename: &str, line: u64, snippet: Option<&Snippet>) -> String {
    let mut text = format!("\n  on {filename} line {line}");
    if let Some(Snippet { context, code }) = snippet {
        if let Some(context) = context {
            text.push_str(", in ");
            text.push_str(context);
        }
        text.push_str(":\n");
        for (code, number) in code.lines().zip(line..) {
            writeln!(text, "  {number}: {code}").expect("a String takes every write");
        }
    } else {
        text.push('\n');
    }
    text
}
