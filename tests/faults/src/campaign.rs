//! Carries out the faults of a plan, and looks after the processes meanwhile as a supervisor would: whoever
//! cannot start because of a fault is started again. Whoever ends by itself later is a violation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres};
use cts_tests::{Cluster, Service, serving};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::plan::{Blow, Fault, MEMBERS, Target};
use crate::report::say;
use crate::sightings;
use crate::violation::{Rule, Violation};

const TICK: Duration = Duration::from_millis(25);
/// Between two starts of a process that cannot start.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// A worker may take its drain timeout and the time to stop Terraform.
const LONGEST_END: Duration = Duration::from_mins(1);
/// Exit codes of an orderly end: the second is that of a slow one.
const ORDERLY: [i32; 2] = [0, 12];

/// How a process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting {
        since: Instant,
    },
    /// It was paused, and goes on.
    Recovering {
        since: Instant,
    },
    Up,
    Paused {
        until: Instant,
    },
    Ending {
        since: Instant,
        down_for: Duration,
    },
    Down {
        until: Instant,
        since: Instant,
    },
}

type Member = (Service, usize);

/// See the module.
#[derive(Debug)]
pub(crate) struct Campaign {
    states: BTreeMap<Member, State>,
    looks: JoinSet<(Member, bool)>,
    outside: JoinSet<()>,
    consul: Arc<Mutex<ConsulAgent>>,
    postgres: Arc<Mutex<Postgres>>,
    pub(crate) figures: Figures,
    pub(crate) violations: Vec<Violation>,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Faults by what they befell and their kind.
    pub(crate) faults: BTreeMap<String, usize>,
    /// Faults left out since their target was not up.
    pub(crate) left_out: usize,
    /// Starts that failed during a fault.
    pub(crate) failed_starts: usize,
    /// From the first start after a fault to health.
    pub(crate) longest_start: Duration,
    /// From SIGTERM to the end.
    pub(crate) longest_end: Duration,
}

impl Campaign {
    /// All processes are up.
    pub(crate) fn new(consul: Arc<Mutex<ConsulAgent>>, postgres: Arc<Mutex<Postgres>>) -> Self {
        let members = MEMBERS.iter().flat_map(|&(service, count)| {
            (0..count).map(move |index| ((service, index), State::Up))
        });
        Self {
            states: members.collect(),
            looks: JoinSet::new(),
            outside: JoinSet::new(),
            consul,
            postgres,
            figures: Figures::default(),
            violations: Vec::new(),
        }
    }

    /// Carries out `faults`, counted from now, and returns when all is up again.
    pub(crate) async fn run(&mut self, cluster: &mut Cluster, faults: &[Fault]) {
        let begun = Instant::now();
        let mut faults = faults.iter().peekable();
        loop {
            while let Some(fault) = faults.next_if(|fault| begun.elapsed() >= fault.at) {
                self.strike(cluster, fault);
            }
            self.look_after(cluster).await;
            let calm = self.states.values().all(|state| *state == State::Up);
            if faults.peek().is_none() && calm && self.outside.is_empty() {
                return;
            }
            sleep(TICK).await;
        }
    }

    /// Looks after the processes for a moment.
    pub(crate) async fn look_after(&mut self, cluster: &mut Cluster) {
        while let Some(ended) = self.outside.try_join_next() {
            // It panics where a test cannot go on.
            ended.unwrap();
        }
        while let Some(look) = self.looks.try_join_next() {
            if let Ok((member, true)) = look {
                self.is_healthy(member);
            }
        }
        let members: Vec<Member> = self.states.keys().copied().collect();
        for member in members {
            self.look_after_one(cluster, member).await;
        }
    }

    fn strike(&mut self, cluster: &mut Cluster, fault: &Fault) {
        let struck = match fault.target {
            Target::Member(service, index) => {
                self.strike_member(cluster, (service, index), fault.blow)
            }
            Target::Guard(worker) => self.strike_guard(cluster, worker),
            Target::Postgres => self.strike_postgres(fault.blow),
            Target::Consul => self.strike_consul(fault.blow),
        };
        say(&format!(
            "{:>7.2}s {} {} for {:?}{}",
            fault.at.as_secs_f64(),
            fault.blow.name(),
            fault.target,
            fault.blow.lasts(),
            if struck { "" } else { ": left out" }
        ));
        if struck {
            let kind = match fault.target {
                Target::Member(service, _) => service.name(),
                Target::Guard(_) => "guard",
                Target::Postgres => "postgres",
                Target::Consul => "consul",
            };
            let name = format!("{} {kind}", fault.blow.name());
            *self.figures.faults.entry(name).or_default() += 1;
        } else {
            self.figures.left_out += 1;
        }
    }

    fn strike_member(&mut self, cluster: &mut Cluster, member: Member, blow: Blow) -> bool {
        let can = match self.states.get(&member) {
            Some(State::Up | State::Recovering { .. }) => true,
            // It may end by itself as long as it is starting, which must not be taken for a late end.
            Some(State::Starting { .. }) => !matches!(blow, Blow::Pause(_)),
            _ => false,
        };
        let (service, index) = member;
        if !can || !cluster.is_running(service, index) {
            return false;
        }
        let now = Instant::now();
        let state = match blow {
            Blow::Kill(down_for) => {
                cluster.signal(service, index, Signal::SIGKILL);
                // It is gone before anybody can look.
                State::Ending {
                    since: now,
                    down_for,
                }
            }
            Blow::Pause(time) => {
                cluster.pause(service, index);
                State::Paused { until: now + time }
            }
            Blow::Terminate(down_for) => {
                cluster.signal(service, index, Signal::SIGTERM);
                State::Ending {
                    since: now,
                    down_for,
                }
            }
        };
        self.states.insert(member, state);
        true
    }

    fn strike_guard(&self, cluster: &Cluster, worker: usize) -> bool {
        if self.states.get(&(Service::Worker, worker)) != Some(&State::Up) {
            return false;
        }
        let parent = u32::try_from(cluster.pid(Service::Worker, worker)).unwrap_or_default();
        let guards = sightings::guards(cluster_path(cluster).as_path());
        let guard = guards.iter().find(|(_, of)| *of == parent);
        let pid = guard.and_then(|&(pid, _)| i32::try_from(pid).ok());
        pid.is_some_and(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok())
    }

    fn strike_postgres(&mut self, blow: Blow) -> bool {
        let Ok(mut postgres) = Arc::clone(&self.postgres).try_lock_owned() else {
            return false;
        };
        self.outside.spawn(async move {
            match blow {
                Blow::Kill(down_for) => {
                    postgres.kill().await;
                    sleep(down_for).await;
                    postgres.start_again().await;
                }
                Blow::Pause(time) => {
                    postgres.pause();
                    sleep(time).await;
                    postgres.resume();
                }
                Blow::Terminate(down_for) => {
                    postgres.stop().await;
                    sleep(down_for).await;
                    postgres.start_again().await;
                }
            }
        });
        true
    }

    fn strike_consul(&mut self, blow: Blow) -> bool {
        let Ok(mut consul) = Arc::clone(&self.consul).try_lock_owned() else {
            return false;
        };
        self.outside.spawn(async move {
            match blow {
                Blow::Kill(down_for) => {
                    consul.kill().await;
                    sleep(down_for).await;
                    consul.restart().await;
                }
                Blow::Pause(time) => {
                    consul.pause();
                    sleep(time).await;
                    consul.resume();
                }
                Blow::Terminate(down_for) => {
                    consul.stop().await;
                    sleep(down_for).await;
                    consul.restart().await;
                }
            }
        });
        true
    }

    async fn look_after_one(&mut self, cluster: &mut Cluster, member: Member) {
        let (service, index) = member;
        let now = Instant::now();
        let Some(&state) = self.states.get(&member) else {
            return;
        };
        let runs = cluster.is_running(service, index);
        let next = match state {
            State::Starting { since } if !runs => {
                cluster.take(service, index).wait().await;
                self.figures.failed_starts += 1;
                State::Down {
                    until: now + RESTART_PAUSE,
                    since,
                }
            }
            State::Starting { .. } | State::Recovering { .. } if runs => {
                if self.looks.is_empty() {
                    self.ask(cluster);
                }
                state
            }
            State::Up | State::Recovering { .. } if !runs => {
                let exit = cluster.take(service, index).wait().await;
                let evidence = format!("ended by itself with {:?}", exit.code);
                self.broken(member, evidence);
                State::Down {
                    until: now,
                    since: now,
                }
            }
            State::Paused { until } if now >= until => {
                cluster.resume(service, index);
                State::Recovering { since: now }
            }
            State::Ending { since, down_for } if !runs => {
                let exit = cluster.take(service, index).wait().await;
                self.figures.longest_end = self.figures.longest_end.max(since.elapsed());
                if exit.code.is_some_and(|code| !ORDERLY.contains(&code)) {
                    self.broken(member, format!("ended with {:?}", exit.code));
                }
                State::Down {
                    until: now + down_for,
                    since: now + down_for,
                }
            }
            State::Ending { since, down_for } if since.elapsed() > LONGEST_END => {
                self.broken(member, format!("did not end within {LONGEST_END:?}"));
                cluster.kill(service, index).await;
                State::Down {
                    until: now + down_for,
                    since: now + down_for,
                }
            }
            State::Down { until, since } if now >= until => {
                cluster.launch(service, index);
                State::Starting { since }
            }
            _ => state,
        };
        self.states.insert(member, next);
    }

    /// Asks all that are starting whether they are healthy.
    fn ask(&mut self, cluster: &Cluster) {
        for (&(service, index), state) in &self.states {
            if matches!(state, State::Starting { .. } | State::Recovering { .. }) {
                let channel = cluster.channel(service, index);
                self.looks
                    .spawn(async move { ((service, index), serving(&channel).await.is_ok()) });
            }
        }
    }

    fn is_healthy(&mut self, member: Member) {
        if let Some(state) = self.states.get_mut(&member)
            && let State::Starting { since } | State::Recovering { since } = *state
        {
            *state = State::Up;
            self.figures.longest_start = self.figures.longest_start.max(since.elapsed());
        }
    }

    fn broken(&mut self, (service, index): Member, evidence: String) {
        let name = format!("{service}-{index}");
        self.violations
            .push(Violation::new(Rule::NobodyDies, name, evidence));
    }
}

fn cluster_path(cluster: &Cluster) -> std::path::PathBuf {
    let work = cluster.work(0);
    work.parent()
        .map(std::path::Path::to_owned)
        .unwrap_or_default()
}
