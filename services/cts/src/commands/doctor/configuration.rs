//! The configuration itself, and its files.

use std::path::PathBuf;

use cts_config::{ConfigError, Loaded, Problem, Report, Severity};

use super::finding::Finding;
use super::modules::MODULES;
use super::subject::Subject;
use crate::services::unsafe_settings::{of_settings, open_secret_files};

const CONFIGURATION: &str = "configuration";
const FILES: &str = "files";
const SETTINGS: &str = "settings";

/// The findings about a configuration that can be used.
pub(super) fn loaded(loaded: &Loaded) -> Finding {
    let tasks = loaded.config.tasks.len();
    match loaded.warnings.problems() {
        [] => Finding::ok(CONFIGURATION, format!("valid, tasks: {tasks}")),
        [first, ..] => Finding::warning(
            CONFIGURATION,
            format!(
                "valid, tasks: {tasks}, warnings: {}, the first: {}",
                loaded.warnings.problems().len(),
                shown(first)
            ),
            "`cts config validate` shows all of them",
        ),
    }
}

/// The modules that their tasks cannot use.
pub(super) fn modules(loaded: &Loaded) -> Vec<Finding> {
    let problems = loaded.module_problems.problems().iter();
    let finding = |problem| {
        let remedy = "mend the module, or the task; until then the task fails";
        Finding::error(MODULES, shown(problem), remedy)
    };
    problems.map(finding).collect()
}

/// The findings about a configuration that cannot be used. No other check runs then.
pub(super) fn refused(error: &ConfigError) -> Finding {
    let report = match error {
        ConfigError::Problems(report) => report,
        ConfigError::NothingFound(_) => {
            let remedy = "name a file with -config-file, or a directory with .hcl or .json files";
            return Finding::error(CONFIGURATION, error.to_string(), remedy);
        }
    };
    let errors = report.count(Severity::Error);
    let first = first_error(report).map(shown).unwrap_or_default();
    Finding::error(
        CONFIGURATION,
        format!("errors: {errors}, the first: {first}; nothing else is checked"),
        "`cts config validate` shows all of them",
    )
}

fn first_error(report: &Report) -> Option<&Problem> {
    let mut problems = report.problems().iter();
    problems.find(|problem| problem.severity() == Severity::Error)
}

fn shown(problem: &Problem) -> String {
    let message = problem.message();
    match (problem.file(), problem.line()) {
        (Some(file), Some(line)) => format!("{file}:{line}: {message}"),
        _ => message.to_owned(),
    }
}

/// Unsafe settings, as the service reports them at its start.
pub(super) fn settings(subject: Subject<'_>) -> Vec<Finding> {
    let remedy = "see docs/configuration.md#what-is-not-safe";
    let found = of_settings(subject.uses, subject.config).into_iter();
    let found = found.map(|text| subject.not_safe(SETTINGS, text, remedy));
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        vec![Finding::ok(SETTINGS, "none of them is unsafe")]
    } else {
        found
    }
}

/// Permissions of the files that may hold secrets.
pub(super) fn files(subject: Subject<'_>, paths: &[PathBuf]) -> Vec<Finding> {
    let directory = &subject.process_env.current_dir;
    let paths = paths.iter().map(|path| directory.join(path));
    let open = open_secret_files(paths, subject.config);
    let key = match subject.config.security.read_keys() {
        Ok(_) => None,
        Err(error) => Some(Finding::error(
            FILES,
            cts_core::Chain(&error).to_string(),
            "see docs/configuration.md#security",
        )),
    };
    let permissions = if open.is_empty() {
        Finding::ok(FILES, "other users cannot read files with secrets")
    } else {
        let shown: Vec<_> = open.iter().map(|path| path.display().to_string()).collect();
        subject.not_safe(
            FILES,
            format!(
                "everybody on this machine can read {}, which may hold secrets",
                shown.join(", ")
            ),
            format!("chmod o-r {}", shown.join(" ")),
        )
    };
    key.into_iter().chain([permissions]).collect()
}
