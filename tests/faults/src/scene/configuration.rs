//! Modules and configuration files.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use cts_tests::{Backend, Site};

use super::past;
use super::wires::file;
use crate::conditions::Kind;
use crate::plan::{Member, Plan};
use crate::{journal, module, terraform};

/// File of a process of a cluster.
pub(super) const FILE: &str = "cts-{name}.hcl";

#[derive(Debug)]
pub(crate) struct Configuration<'a> {
    pub(crate) plan: &'a Plan,
    /// Directory of the executable.
    pub(crate) terraform: &'a Path,
    /// Version of the tasks.
    pub(crate) version: u64,
}

impl Configuration<'_> {
    /// Writes a module for each task that there may be.
    pub(super) fn write_modules(&self, site: &Site) {
        for number in 0..self.plan.all_tasks() {
            let name = Plan::task(number);
            let journal = journal::path(site.path(), &name);
            let trouble = terraform::trouble(site.path(), &name);
            let files = module::files(&journal.to_string_lossy(), &trouble.to_string_lossy());
            for (file, text) in files {
                site.write(&format!("modules/{name}/{file}"), &text);
            }
        }
    }

    /// Writes the file of a process: `cts.hcl` for one alone.
    pub(crate) fn write(&self, site: &Site, member: Member, consul: SocketAddr) {
        let tasks = if self.plan.setup.is_stale(member) {
            self.stale_tasks()
        } else {
            self.tasks()
        };
        self.configure(site, consul, &tasks);
        if member != Member::Whole {
            let text = std::fs::read_to_string(site.path().join("cts.hcl")).unwrap();
            site.write(&file(FILE, member), &text);
        }
    }

    /// Writes `cts.hcl` for one process alone, without tasks.
    pub(super) fn write_without_tasks(&self, site: &Site, consul: SocketAddr) {
        self.configure(site, consul, "");
    }

    fn configure(&self, site: &Site, consul: SocketAddr, tasks: &str) {
        let backend = match self.plan.setup.backend {
            Backend::Shared => site.shared_backend(),
            _ => String::new(),
        };
        let driver = format!("{backend}\n  path = \"{}\"", self.terraform.display());
        let worker = if self.plan.setup.members() == [Member::Whole] {
            format!("worker {{\n  slots = {}\n}}\n", super::SLOTS)
        } else {
            "worker { drain_timeout = \"15s\" }\n".to_owned()
        };
        let kept = if self.plan.setup.past > 0 {
            format!("scheduler {{\n  runs_kept_for = {:?}\n}}\n", past::KEPT_FOR)
        } else {
            String::new()
        };
        site.configure_driver(
            &consul.to_string(),
            &driver,
            &format!("{worker}{kept}{tasks}"),
        );
    }

    fn tasks(&self) -> String {
        let mut text = String::new();
        for number in 0..self.plan.tasks.len() {
            if let Some(task) = self.plan.declared(number, self.version) {
                _ = write!(text, "{}", block(number, &task.services, task.enabled));
            }
        }
        text
    }

    /// Those of an older file: the first task watches all services, and the last one is missing.
    fn stale_tasks(&self) -> String {
        let mut text = String::new();
        let all: Vec<usize> = (0..self.plan.size.services).collect();
        let without_last = self.plan.tasks.len().saturating_sub(1);
        for (number, watched) in self.plan.tasks.iter().enumerate().take(without_last) {
            let enabled = !self.plan.disabled.contains(&number);
            let watched = if number == 0 { &all } else { watched };
            _ = write!(text, "{}", block(number, watched, enabled));
        }
        text
    }
}

fn block(number: usize, watched: &[usize], enabled: bool) -> String {
    let mut more = Vec::new();
    if !enabled {
        more.push("enabled = false");
    }
    if Plan::destroys(number) {
        more.push("on_delete = \"destroy\"");
    }
    Kind::of(number).block(number, watched, &more.join("\n  "))
}
