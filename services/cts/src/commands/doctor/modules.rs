//! The modules of tasks: local modules are packed as for a worker, other sources are judged by their text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cts_bundle::{Limits, Packing, identify};
use cts_config::{Config, unpinned_module};
use cts_core::Chain;
use tokio::task::spawn_blocking;

use super::finding::Finding;
use super::subject::Subject;

pub(super) const MODULES: &str = "modules";

/// Checks each module once.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    if !subject.needs.modules {
        return vec![Finding::skipped(MODULES, "this service reads no modules")];
    }
    let (mut local, mut findings) = (BTreeMap::<PathBuf, String>::new(), Vec::new());
    let mut pinned = 0;
    for task in &subject.config.tasks {
        if task.requirement.unusable_module.is_some() {
            // The configuration's findings have it.
            continue;
        }
        let task = &task.definition;
        let source = Path::new(&task.module_source);
        if source.is_absolute() {
            let directory = source.components().collect();
            local
                .entry(directory)
                .or_insert_with(|| task.name.to_string());
        } else if let Some(problem) = unpinned_module(task) {
            let found = format!("{} of task {:?} {problem}", task.module, task.name.as_str());
            let remedy = "pin the module, so that each run uses the same code; security.strict = true requires that";
            findings.push(Finding::warning(MODULES, found, remedy));
        } else {
            pinned += 1;
        }
    }
    if pinned > 0 {
        findings.push(Finding::ok(
            MODULES,
            format!("remote modules with an exact version: {pinned}"),
        ));
    }
    let count = local.len();
    let config = subject.config.clone();
    let reading = spawn_blocking(move || {
        let modules = local.into_iter();
        modules
            .filter_map(|(directory, task)| problem(&config, &directory, &task))
            .collect::<Vec<_>>()
    });
    match reading.await {
        Ok(problems) if problems.is_empty() && count > 0 => {
            findings.push(Finding::ok(
                MODULES,
                format!("local modules that can be packed: {count}"),
            ));
        }
        Ok(problems) => findings.extend(problems),
        Err(error) => {
            let remedy = "run the command again";
            findings.push(Finding::error(MODULES, error.to_string(), remedy));
        }
    }
    findings
}

fn problem(config: &Config, directory: &Path, task: &str) -> Option<Finding> {
    let working_dirs = [
        Some(&config.working_dir),
        config.worker.working_dir.as_ref(),
    ];
    let packing = Packing {
        excluded: working_dirs.into_iter().flatten().cloned().collect(),
        roots: config.module_roots.of_file(directory),
        limits: Limits::default(),
    };
    let error = identify(directory, &packing).err()?;
    Some(Finding::error(
        MODULES,
        format!("task {task:?}: {}", Chain(&error)),
        "see docs/configuration.md#module-roots",
    ))
}
