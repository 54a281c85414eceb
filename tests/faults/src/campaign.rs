//! Carries out the faults of a plan, and looks after the processes in the meantime as a supervisor would: a
//! process that cannot start because of a fault is started again. A process that ends by itself later is a
//! violation.

mod files;
mod members;
mod outages;
mod outside;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use self::files::Rewrites;
pub(crate) use self::files::{Files, Version};
use self::members::Members;
pub(crate) use self::outages::Outages;
pub(crate) use self::outside::{Aftermath, Outside};
use crate::audit::Orphans;
use crate::plan::{Blow, Fault, Member, Target};
use crate::processes;
use crate::report::say;
use crate::system::System;
use crate::violation::Violation;
use cts_tests::Service;

const TICK: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(crate) struct Campaign {
    pub(crate) members: Members,
    outside: Outside,
    open: JoinSet<(Target, Option<Aftermath>)>,
    /// Targets out of order that are not processes.
    busy: BTreeSet<Target>,
    /// Guards that stand still, until when.
    paused_guards: Vec<(usize, i32, Instant)>,
    pub(crate) rewrites: Rewrites,
    pub(crate) outages: Outages,
    pub(crate) orphans: Orphans,
    /// Periods whose confirmed writes the database has forgotten, by two clocks: the second counts hundredths
    /// of a second since the machine was started.
    pub(crate) forgotten: watch::Sender<Vec<[(Instant, u64); 2]>>,
    /// Faults by their target and kind.
    pub(crate) faults: BTreeMap<String, usize>,
    /// Faults left out since their target was not up, or does not exist.
    pub(crate) left_out: BTreeMap<String, usize>,
}

impl Campaign {
    /// All processes are up.
    pub(crate) fn new(members: &[Member], outside: Outside) -> Self {
        let alone = members == [Member::Whole];
        Self {
            members: Members::new(members),
            outside,
            open: JoinSet::new(),
            busy: BTreeSet::new(),
            paused_guards: Vec::new(),
            rewrites: Rewrites::default(),
            outages: Outages::default(),
            orphans: Orphans {
                of_all: alone,
                ..Orphans::default()
            },
            forgotten: watch::Sender::default(),
            faults: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Carries out `faults`, counted from now, and returns when all is up again.
    pub(crate) async fn run(&mut self, system: &mut System, files: &Files<'_>, faults: &[Fault]) {
        let begun = Instant::now();
        let mut faults = faults.iter().peekable();
        loop {
            while let Some(fault) = faults.next_if(|fault| begun.elapsed() >= fault.at) {
                self.strike(system, files, fault);
            }
            self.restart(system);
            self.look_after(system).await;
            let calm = self.members.are_up() && self.busy.is_empty();
            if faults.peek().is_none()
                && calm
                && self.paused_guards.is_empty()
                && self.rewrites.are_done()
            {
                return;
            }
            sleep(TICK).await;
        }
    }

    /// Looks after the processes for a moment.
    pub(crate) async fn look_after(&mut self, system: &mut System) {
        while let Some(ended) = self.open.try_join_next() {
            // The fault panics where a test cannot go on.
            let (target, aftermath) = ended.unwrap();
            self.busy.remove(&target);
            self.outages.end(target);
            if let Some(since) = aftermath.and_then(|aftermath| aftermath.forgotten_since) {
                self.forget(since);
            } else if aftermath.is_none() {
                say(&format!("{target}: could not be done"));
                *self.left_out.entry(target.to_string()).or_default() += 1;
            }
        }
        let now = Instant::now();
        for (worker, pid, _) in self
            .paused_guards
            .extract_if(.., |(.., until)| now >= *until)
        {
            // The guard may be gone.
            let _gone = kill(Pid::from_raw(pid), Signal::SIGCONT);
            self.outages.end(Target::Guard(worker));
        }
        self.members.look_after(system, &mut self.outages).await;
    }

    /// Takes the violations so far.
    pub(crate) fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.members.violations)
    }

    fn forget(&self, since: Instant) {
        let elapsed = u64::try_from(since.elapsed().as_millis() / 10).unwrap_or_default();
        let now = processes::uptime();
        let time = [(since, now.saturating_sub(elapsed)), (Instant::now(), now)];
        self.forgotten.send_modify(|times| times.push(time));
    }

    fn strike(&mut self, system: &mut System, files: &Files<'_>, fault: &Fault) {
        let struck = match fault.target {
            Target::Member(member) => {
                self.members
                    .strike(system, member, fault.blow, &mut self.outages)
            }
            Target::Guard(worker) => self.strike_guard(system, worker, fault.blow),
            Target::WorkerWithGuard(worker) => self.strike_both(system, worker, fault.blow),
            Target::Files => self.rewrites.begin(files, fault.blow),
            Target::Blocks => {
                let begins = self.rewrites.begin(files, fault.blow);
                if begins {
                    self.outages.begin(Target::Blocks);
                }
                begins
            }
            other => {
                self.busy.insert(other) && {
                    self.outages.begin(other);
                    let (outside, fault) = (self.outside.clone(), *fault);
                    self.open
                        .spawn_local(async move { (fault.target, outside.suffer(fault).await) });
                    true
                }
            }
        };
        say(&format!(
            "{:>7.2}s {} {} for {:?}{}",
            fault.at.as_secs_f64(),
            fault.blow.name(),
            fault.target,
            fault.blow.lasts(),
            if struck { "" } else { ": left out" }
        ));
        let figures = if struck {
            &mut self.faults
        } else {
            &mut self.left_out
        };
        *figures.entry(fault.kind()).or_default() += 1;
    }

    fn strike_guard(&mut self, system: &System, worker: usize, blow: Blow) -> bool {
        let Some((pid, _)) = self.guard(system, worker) else {
            return false;
        };
        let signal = match blow {
            Blow::Pause(time) => {
                if self.paused_guards.iter().any(|(of, ..)| *of == worker) {
                    return false;
                }
                self.paused_guards
                    .push((worker, pid, Instant::now() + time));
                self.outages.begin(Target::Guard(worker));
                Signal::SIGSTOP
            }
            _ => Signal::SIGKILL,
        };
        kill(Pid::from_raw(pid), signal).is_ok()
    }

    fn strike_both(&mut self, system: &mut System, worker: usize, blow: Blow) -> bool {
        let Some((pid, id)) = self.guard(system, worker) else {
            return false;
        };
        let member = Member::Of(Service::Worker, worker);
        // The worker first: it would start another guard.
        let struck = self.members.strike(system, member, blow, &mut self.outages);
        if struck {
            let _gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
            self.orphans.workers.insert(id);
        }
        struck
    }

    /// The guard of a worker that is up, and the worker's id.
    fn guard(&self, system: &System, worker: usize) -> Option<(i32, String)> {
        let member = Member::Of(Service::Worker, worker);
        if !self.members.is_up(member) {
            return None;
        }
        let parent = u32::try_from(system.pid(member)).ok()?;
        let guards = processes::guards(&system.site());
        let guard = guards.into_iter().find(|guard| guard.parent == parent)?;
        Some((i32::try_from(guard.pid).ok()?, guard.worker))
    }
}
