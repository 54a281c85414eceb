//! What is shown and kept when something must not be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::plan::{MEMBERS, Plan};
use crate::report::{Report, say};
use crate::scene::Scene;
use crate::violation::Violation;

const LINES_SHOWN: usize = 15;

/// Shows what belongs to the violations.
pub(crate) fn show(scene: &Scene, plan: &Plan, report: &Report) {
    let subjects: BTreeMap<&str, &Violation> = report
        .violations
        .iter()
        .map(|violation| (&*violation.subject, violation))
        .collect();
    for number in 0..plan.tasks.len() {
        if subjects.contains_key(&*Plan::task(number)) {
            say(&last(
                &format!("journal of {}", Plan::task(number)),
                &scene.journal(number),
            ));
        }
    }
    for (service, count) in MEMBERS {
        for index in 0..count {
            let output = scene.cluster.output(service, index);
            say(&last(&format!("{service}-{index}"), &output));
        }
    }
}

fn last(name: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    format!("the last lines of {name}:\n{}", shown.join("\n"))
}

/// Copies the files of the site to where they stay.
#[expect(
    clippy::disallowed_methods,
    reason = "it must work while a panic goes on, when there may be no runtime"
)]
pub(crate) fn keep(site: &Path, to: &Path) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(site)
        .arg(to)
        .status();
    say(&format!(
        "the files are kept in {}: {copied:?}",
        to.display()
    ));
}

/// Keeps the files when the suite itself fails.
#[derive(Debug)]
pub(crate) struct KeepOnPanic {
    pub(crate) site: PathBuf,
    pub(crate) to: PathBuf,
}

impl Drop for KeepOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            keep(&self.site, &self.to);
        }
    }
}
