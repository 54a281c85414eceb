//! Files that change, and processes that are restarted so that they read them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use cts_tests::{Service, Site};

use super::Campaign;
use crate::plan::{Blow, Member, Plan, Target};
use crate::processes;
use crate::scene::{Configuration, Versions, Wires};
use crate::server::Server;
use crate::system::System;

/// Time between the end of a process and its next start.
const PAUSE: Duration = Duration::from_millis(200);

/// The data from which the files of all processes are written.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) site: &'a Site,
    pub(crate) terraform: &'a Path,
    pub(crate) server: Option<&'a Server>,
    pub(crate) wires: &'a Wires,
    pub(crate) consul: SocketAddr,
}

impl Files<'_> {
    /// Processes of this kind, whose files are the same.
    fn of(&self, service: Service) -> VecDeque<Member> {
        let members = self.plan.setup.members().into_iter();
        let is_meant = |member: &Member| match member {
            Member::Whole => true,
            Member::Of(one, _) => *one == service,
        };
        members.filter(is_meant).collect()
    }

    fn write(&self, versions: Versions, readers: &VecDeque<Member>) {
        let configuration = Configuration {
            plan: self.plan,
            terraform: self.terraform,
            server: self.server,
            versions,
        };
        for &member in readers {
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

/// Changes of the files so far.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    /// Versions of the tasks.
    pub(crate) versions: Vec<Version>,
    /// The versions that are written now.
    pub(crate) written: Versions,
    waiting: VecDeque<Member>,
    restarting: Option<Member>,
}

impl Rewrites {
    pub(super) fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.restarting.is_none()
    }

    pub(super) fn begin(&mut self, files: &Files<'_>, blow: Blow) -> bool {
        if !self.are_done() {
            return false;
        }
        let readers = match blow {
            Blow::Rewrite(number) => {
                self.written.tasks = number;
                self.versions.push(Version {
                    number,
                    written: processes::uptime(),
                    read: None,
                });
                files.of(Service::Scheduler)
            }
            Blow::ChangeBlocks(number) => {
                self.written.blocks = number;
                files.of(Service::Worker)
            }
            _ => return false,
        };
        files.write(self.written, &readers);
        self.waiting = readers;
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
            if self.rewrites.waiting.is_empty() {
                self.outages.end(Target::Blocks);
            }
            if self.rewrites.waiting.is_empty()
                && let Some(version) = self.rewrites.versions.last_mut()
            {
                version.read.get_or_insert_with(processes::uptime);
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
