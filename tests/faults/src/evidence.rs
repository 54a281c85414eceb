//! Evidence that is shown and kept after a violation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::plan::Plan;
use crate::report::say;
use crate::suite::Suite;

const LINES_SHOWN: usize = 15;

/// Shows the evidence of the violations.
pub(crate) fn show(suite: &Suite<'_>) {
    let violations = suite.report.violations.iter();
    let subjects: BTreeSet<&str> = violations.map(|violation| &*violation.subject).collect();
    for number in 0..suite.plan.all_tasks() {
        let name = Plan::task(number);
        if subjects.contains(&*name) {
            let journal = suite.scene.journal(number);
            say(&last(&format!("journal of {name}"), &journal));
        }
    }
    for &member in &suite.scene.members {
        let output = suite.scene.system.output(member);
        say(&last(&member.to_string(), &output));
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
