//! Where problems go while decoding continues.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use cts_bundle::clean_path;

use crate::report::location::{Located, SourceLocation};
use crate::report::original::ProblemKind;
use crate::report::problem::{Problem, Report, Severity};

/// Collects problems, and makes paths absolute. Shared by reference, because every block of the tree reports into it
/// while others are still being read.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    problems: RefCell<Vec<Problem>>,
    /// Relative paths of the files are below it.
    pub(crate) current_dir: PathBuf,
}

impl Sink {
    pub(crate) fn new(current_dir: &Path) -> Self {
        Self {
            problems: RefCell::default(),
            current_dir: current_dir.to_owned(),
        }
    }

    /// A path of the files, made absolute.
    pub(crate) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        clean_path(&self.current_dir.join(path))
    }

    pub(crate) fn error(&self, place: &SourceLocation, message: impl Into<String>) {
        self.error_with_help(place, message, None);
    }

    pub(crate) fn error_with_help(
        &self,
        place: &SourceLocation,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.push(Severity::Error, Some(place.clone()), message.into(), help);
    }

    /// The value that `read` makes of a written one; a refusal is reported.
    pub(crate) fn checked<T, U, E: ToString>(
        &self,
        written: Located<T>,
        read: impl FnOnce(T) -> Result<U, E>,
    ) -> Option<Located<U>> {
        let Located { value, place } = written;
        let read = read(value).map_err(|problem| self.error(&place, problem.to_string()));
        read.ok().map(|value| Located { value, place })
    }

    /// An error about the form of something, which ends the reading of the original before it checks any value.
    pub(crate) fn malformed(
        &self,
        place: &SourceLocation,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.error_with_help(place, message, help);
        self.classify(ProblemKind::Malformed);
    }

    /// An error about a thing that may be there once, with the place of the first one.
    pub(crate) fn error_after(
        &self,
        first: &SourceLocation,
        place: &SourceLocation,
        message: impl Into<String>,
    ) {
        let help = format!("the first one is at {}", first.describe());
        self.error_with_help(place, message, Some(help));
    }

    /// An error that no file contains, such as a missing file.
    pub(crate) fn error_outside(&self, message: impl Into<String>) {
        self.error_outside_with_help(message, None);
    }

    pub(crate) fn error_outside_with_help(&self, message: impl Into<String>, help: Option<String>) {
        self.push(Severity::Error, None, message.into(), help);
    }

    /// An error about a module, which only a task that uses the module suffers from.
    pub(crate) fn module_problem(
        &self,
        place: &SourceLocation,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.error_with_help(place, message, help);
        self.classify(ProblemKind::Module);
    }

    pub(crate) fn warning(&self, place: &SourceLocation, message: impl Into<String>) {
        self.push(Severity::Warning, Some(place.clone()), message.into(), None);
    }

    pub(crate) fn warning_outside(&self, message: impl Into<String>) {
        self.push(Severity::Warning, None, message.into(), None);
    }

    fn push(
        &self,
        severity: Severity,
        place: Option<SourceLocation>,
        message: String,
        help: Option<String>,
    ) {
        self.problems.borrow_mut().push(Problem {
            severity,
            message: printable(message),
            help: help.map(printable),
            place,
            kind: ProblemKind::Other,
        });
    }

    /// Notes the kind of the problem that was reported last.
    pub(crate) fn classify(&self, kind: ProblemKind) {
        if let Some(problem) = self.problems.borrow_mut().last_mut() {
            problem.kind = kind;
        }
    }

    /// Whether anything was found that makes the files unusable.
    pub(crate) fn has_errors(&self) -> bool {
        let problems = self.problems.borrow();
        problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Everything that was found, as one report.
    pub(crate) fn into_report(self) -> Report {
        Report::new(self.problems.into_inner())
    }

    /// Errors and warnings, apart.
    pub(crate) fn into_parts(self) -> (Vec<Problem>, Vec<Problem>) {
        let problems = self.problems.into_inner().into_iter();
        problems.partition(|problem| problem.severity == Severity::Error)
    }
}

/// Names of keys and files stand in messages, and may hold what steers a terminal or breaks the line.
fn printable(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}
