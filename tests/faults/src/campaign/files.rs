//! Files that change, and processes that are restarted so that they read them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use cts_tests::{Service, Site};

use super::Campaign;
use crate::plan::{Blow, Member, Plan};
use crate::processes;
use crate::scene::{Configuration, Wires};
use crate::system::System;

/// Between the end of a process and its next start.
const PAUSE: Duration = Duration::from_millis(200);

/// What is needed to write the files of all processes.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) site: &'a Site,
    pub(crate) terraform: &'a Path,
    pub(crate) wires: &'a Wires,
    pub(crate) consul: SocketAddr,
}

impl Files<'_> {
    /// Processes that read tasks from their files.
    fn readers(&self) -> impl Iterator<Item = Member> {
        let members = self.plan.setup.members().into_iter();
        members.filter(|member| matches!(member, Member::Whole | Member::Of(Service::Scheduler, _)))
    }

    fn write(&self, version: u64) {
        let configuration = Configuration {
            plan: self.plan,
            terraform: self.terraform,
            version,
        };
        for member in self.readers() {
            let consul = self.wires.consul(member).unwrap_or(self.consul);
            configuration.write(self.site, member, consul);
        }
    }
}

/// A version of the files; moments are hundredths of a second since the machine was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) number: u64,
    /// When it was written.
    pub(crate) written: u64,
    /// When all processes that read it had been started with it and were healthy.
    pub(crate) read: Option<u64>,
}

/// Versions of the files so far.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    pub(crate) versions: Vec<Version>,
    waiting: VecDeque<Member>,
    restarting: Option<Member>,
}

impl Rewrites {
    pub(super) fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.restarting.is_none()
    }

    pub(super) fn begin(&mut self, files: &Files<'_>, blow: Blow) -> bool {
        let Blow::Rewrite(number) = blow else {
            return false;
        };
        if !self.are_done() {
            return false;
        }
        files.write(number);
        self.waiting = files.readers().collect();
        self.versions.push(Version {
            number,
            written: processes::uptime(),
            read: None,
        });
        true
    }
}

impl Campaign {
    /// Restarts one after the other the processes whose files have changed.
    pub(super) fn restart(&mut self, system: &mut System) {
        if let Some(member) = self.rewrites.restarting {
            if !self.members.is_up(member) {
                return;
            }
            self.rewrites.restarting = None;
            if self.rewrites.waiting.is_empty()
                && let Some(version) = self.rewrites.versions.last_mut()
            {
                version.read = Some(processes::uptime());
            }
        }
        let Some(&member) = self.rewrites.waiting.front() else {
            return;
        };
        let ends = Blow::Terminate(PAUSE);
        if self.members.is_up(member)
            && self.members.strike(system, member, ends, &mut self.outages)
        {
            self.rewrites.waiting.pop_front();
            self.rewrites.restarting = Some(member);
        }
    }
}
