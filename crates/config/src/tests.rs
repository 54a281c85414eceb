//! Whole configurations, from files to values or reports.

mod blocks;
mod cloud;
mod conditions;
mod declarations;
mod documentation;
mod dump;
mod examples;
mod files;
mod first_problem;
mod hostile;
mod json;
mod module_inputs;
mod modules;
mod outside;
mod properties;
mod published;
mod reports;
mod secrets;
mod service_blocks;
mod settings;
mod task_files;
mod tasks;
mod templates;
mod values;
mod variables;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta};
use cts_core::TaskSpec;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Config, ConfigError, LoadContext, Loaded, Problem, Report, check, dump_json, load};

/// With every variable that a test sets.
fn module() -> String {
    let inputs = ["services", "catalog_services", "consul_kv"].map(str::to_owned);
    let own = ('a'..='z').map(String::from);
    let names = inputs.into_iter().chain(own);
    let declared = names.map(|name| format!("variable \"{name}\" {{ type = any }}\n"));
    declared.collect::<Vec<_>>().concat()
}

/// A current directory with a module `./m` in it, and an environment.
struct Sandbox {
    directory: TempDir,
    environment: BTreeMap<String, String>,
}

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self {
            directory: TempDir::new().unwrap(),
            environment: BTreeMap::new(),
        };
        sandbox.write("m/main.tf", module());
        sandbox
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.into(), value.into());
    }

    fn load(&self, paths: &[&str]) -> Result<Loaded, ConfigError> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        self.in_context(|context| load(&paths, context))
    }

    fn in_context<T>(&self, load: impl FnOnce(&LoadContext<'_>) -> T) -> T {
        load(&LoadContext {
            environment: &self.environment,
            current_dir: self.path(),
            hostname: "host",
            now: DateTime::UNIX_EPOCH + TimeDelta::days(20_000),
        })
    }

    fn check(&self, paths: &[&str]) -> Report {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        self.in_context(|context| check(&paths, context))
    }

    /// Loads `text` as the only file, `a.hcl`.
    fn config(&self, text: &str) -> Config {
        // An empty file would be skipped.
        self.write("a.hcl", format!("{text}\n"));
        match self.load(&["a.hcl"]) {
            Ok(loaded) => loaded.config,
            Err(ConfigError::Problems(report)) => {
                panic!("{text}\n{}", report.render())
            }
            Err(ConfigError::NothingFound(_)) => panic!("nothing found"),
        }
    }

    /// Messages of the warnings about `text`.
    fn warnings(&self, text: &str) -> Vec<String> {
        self.write("a.hcl", format!("{text}\n"));
        let loaded = self.load(&["a.hcl"]).unwrap();
        let problems = loaded.warnings.problems().iter();
        problems
            .map(|problem| problem.message().to_owned())
            .collect()
    }

    fn refused(&self, text: &str) -> Report {
        self.write("a.hcl", format!("{text}\n"));
        self.refused_files(&["a.hcl"])
    }

    fn refused_files(&self, paths: &[&str]) -> Report {
        match self.load(paths) {
            Err(ConfigError::Problems(report)) => report,
            Ok(loaded) if !loaded.module_problems.is_empty() => {
                let tasks = loaded.config.tasks.iter();
                let mut broken = tasks.filter(|task| task.requirement.unusable_module.is_some());
                assert!(broken.next().is_some());
                loaded.module_problems
            }
            other => panic!("not refused: {other:?}"),
        }
    }

    /// The report as text, with the temporary directory replaced.
    fn rendered(&self, report: &Report) -> String {
        let directory = self.path().to_str().unwrap();
        report.render().replace(directory, "/cwd")
    }
}

fn config(text: &str) -> Config {
    Sandbox::new().config(text)
}

/// Line and message of every problem.
fn problems(text: &str) -> Vec<(usize, String)> {
    let report = Sandbox::new().refused(text);
    let problems = report.problems().iter();
    problems
        .map(|problem| (problem.line().unwrap_or(0), problem.message().to_owned()))
        .collect()
}

/// Asserts that `text` has exactly one problem, on that line and with that part of a message.
#[track_caller]
fn assert_problem(text: &str, line: usize, message: &str) {
    let found = problems(text);
    let [(at, problem)] = found.as_slice() else {
        panic!("{text}\n{found:#?}");
    };
    assert_eq!(*at, line, "{problem}");
    assert!(problem.contains(message), "{problem:?} lacks {message:?}");
}

/// The only problem of a report.
#[track_caller]
fn only(report: &Report) -> &Problem {
    let [problem] = report.problems() else {
        panic!("{}", report.render());
    };
    problem
}

/// Asserts that there is one message, with that part.
#[track_caller]
fn assert_one(messages: &[String], part: &str) {
    let [message] = messages else {
        panic!("not one message with {part:?}: {messages:#?}");
    };
    assert!(message.contains(part), "{message:?} lacks {part:?}");
}

/// Asserts for each of `cases` that it has exactly one problem.
///
/// `#~` stands at the end of the problem's line, before a part of its message. A case is one line, or all lines
/// up to a blank one.
#[track_caller]
fn assert_problems(cases: &str) {
    assert_each(cases, str::to_owned, assert_problem);
}

/// Calls `check` with the configuration that `place` makes of each case, its marked line and the part of a
/// message.
#[track_caller]
fn assert_each(cases: &str, place: impl Fn(&str) -> String, check: impl Fn(&str, usize, &str)) {
    let before = place("@").split('@').next().unwrap().matches('\n').count();
    for paragraph in cases.trim().split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        let marked = lines.iter().filter(|line| line.contains("#~")).count();
        let size = if marked == 1 { lines.len() } else { 1 };
        for case in lines.chunks(size) {
            let at = case.iter().position(|line| line.contains("#~"));
            let at = at.unwrap_or_else(|| panic!("no mark in {case:?}"));
            let (_, message) = case[at].split_once("#~").unwrap();
            let lines = case
                .iter()
                .map(|line| line.split("#~").next().unwrap().trim_end());
            let text = lines.collect::<Vec<_>>().join("\n");
            check(&place(&text), before + at + 1, message.trim());
        }
    }
}

/// Asserts for each of `cases` the value of one key in the dump of the configuration that `place` makes of it.
///
/// `#~` stands at the end of each line, before a pointer to the key and its value in JSON; `null` is a key that the dump
/// leaves out.
#[track_caller]
fn assert_values(cases: &str, place: impl Fn(&str) -> String) {
    let sandbox = Sandbox::new();
    let directory = sandbox.path().to_str().unwrap();
    assert_each(cases, place, |text, _, expected| {
        let (pointer, value) = expected.split_once(' ').unwrap();
        let dumped = dump_json(&sandbox.config(text)).to_string();
        let dumped: Value = dumped.replace(directory, "/cwd").parse().unwrap();
        let expected: Value = value.parse().unwrap();
        let found = dumped.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(*found, expected, "{text}");
    });
}

/// The task of [`task_with`].
fn task(sandbox: &Sandbox, extra: &str) -> TaskSpec {
    sandbox.config(&task_with(extra)).tasks.remove(0)
}

/// A task block with `extra` in it.
fn task_with(extra: &str) -> String {
    format!(
        "task {{\n  name = \"t\"\n  module = \"./m\"\n  condition \"services\" {{ names = [\"web\"] }}\n  {extra}\n}}"
    )
}
