//! Modules and configuration files.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use cts_tests::{Backend, Site};

use super::past;
use super::wires::file;
use crate::conditions::Kind;
use crate::plan::{Member, Place, Plan};
use crate::server::Server;
use crate::{journal, module, terraform};

/// File of a process of a cluster.
pub(super) const FILE: &str = "cts-{name}.hcl";

/// The changes of a plan alone seldom set it. No number counts for less than a minute.
const BRAKE: &str = "fleet_max_shrink {
  share    = \"60%\"
  within   = \"1m\"
  at_least = 5
}
";

/// Directory of the states that have been moved.
pub(super) const OTHER_STATES: &str = "state-elsewhere";

#[derive(Debug)]
pub(crate) struct Configuration<'a> {
    pub(crate) plan: &'a Plan,
    /// Directory of the executable.
    pub(crate) terraform: &'a Path,
    /// The server that makes the runs.
    pub(crate) server: Option<&'a Server>,
    pub(crate) versions: Versions,
}

/// Versions of the written files; 0 is the first of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) tasks: u64,
    /// Backend and provider blocks of the workers.
    pub(crate) blocks: u64,
}

impl Configuration<'_> {
    /// Writes a module for each task that may exist.
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
        let brake = if self.plan.setup.brake { BRAKE } else { "" };
        let consul = consul.to_string();
        let more = format!("{worker}{kept}{brake}{}{tasks}", self.provider());
        if let Some(server) = self.server {
            return site.write_configuration(&consul, &server.driver(), &more);
        }
        let driver = format!(
            "{}\n  path = \"{}\"",
            self.backend(site),
            self.terraform.display()
        );
        site.configure_driver(&consul, &driver, &more);
    }

    fn backend(&self, site: &Site) -> String {
        let version = self.versions.blocks;
        let place = |place, spelling| match (place, self.plan.setup.backend) {
            (Place::Other, _) => local(&site.path().join(OTHER_STATES), spelling),
            (Place::First, Backend::Shared) => local(&site.path().join("state"), spelling),
            // The arguments are the default ones.
            (Place::First, _) if spelling > 1 => "backend \"consul\" { gzip = true }".to_owned(),
            (Place::First, _) => "backend \"consul\" {}".to_owned(),
        };
        if version == 0 {
            return match self.plan.setup.backend {
                Backend::Shared => site.shared_backend(),
                _ => String::new(),
            };
        }
        let current = place(Place::of(version), Plan::spelling(version));
        let previous = place(Place::of(version + 1), 0);
        format!("shared_local_backend = true\n  {current}\n  previous_{previous}")
    }

    fn provider(&self) -> String {
        if !self.plan.setup.changes_blocks() {
            return String::new();
        }
        format!(
            "terraform_provider \"fake-sync\" {{\n  name = \"v{}\"\n}}\n",
            self.versions.blocks
        )
    }

    fn tasks(&self) -> String {
        let mut text = String::new();
        for number in 0..self.plan.tasks.len() {
            if let Some(task) = self.plan.declared(number, self.versions.tasks) {
                _ = write!(text, "{}", self.block(number, &task.services, task.enabled));
            }
        }
        text
    }

    /// The tasks of an older file: the first task watches all services, and the last one is missing.
    fn stale_tasks(&self) -> String {
        let mut text = String::new();
        let all: Vec<usize> = (0..self.plan.size.services).collect();
        let without_last = self.plan.tasks.len().saturating_sub(1);
        for (number, watched) in self.plan.tasks.iter().enumerate().take(without_last) {
            let enabled = !self.plan.disabled.contains(&number);
            let watched = if number == 0 { &all } else { watched };
            _ = write!(text, "{}", self.block(number, watched, enabled));
        }
        text
    }

    fn block(&self, number: usize, watched: &[usize], enabled: bool) -> String {
        let mut more = Vec::new();
        if !enabled {
            more.push("enabled = false");
        }
        if Plan::destroys(number) {
            more.push("on_delete = \"destroy\"");
        }
        if self.plan.has_provider(number) {
            more.push("providers = [\"fake-sync\"]");
        }
        Kind::of(number).block(number, watched, &more.join("\n  "))
    }
}

/// Backend `local` with states in a directory, which can be written in many ways.
fn local(directory: &Path, spelling: usize) -> String {
    format!(
        "backend \"local\" {{ workspace_dir = \"{}{}\" }}",
        directory.display(),
        "/.".repeat(spelling)
    )
}
