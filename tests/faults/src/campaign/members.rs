//! The processes of cts, as a supervisor sees them.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_tests::serving;
use nix::sys::signal::Signal;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Outages;
use crate::plan::{Blow, Member, Target};
use crate::processes;
use crate::system::System;
use crate::violation::{Rule, Violation};

/// Time between two starts of a process that cannot start.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// A worker may take its drain timeout and the time to stop Terraform.
const LONGEST_END: Duration = Duration::from_mins(1);
/// Exit codes of an orderly end: the second is that of a slow one.
const ORDERLY: [i32; 2] = [0, 12];
/// Time between two measurements of the processes' memory.
const BETWEEN_MEASUREMENTS: Duration = Duration::from_secs(1);

/// How a process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting {
        since: Instant,
    },
    /// The process was paused, and goes on.
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

#[derive(Debug)]
pub(crate) struct Members {
    states: BTreeMap<Member, State>,
    looks: JoinSet<(Member, bool)>,
    measured: Instant,
    pub(crate) figures: Figures,
    pub(crate) violations: Vec<Violation>,
}

/// Figures of the processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Starts that failed during a fault.
    pub(crate) failed_starts: usize,
    /// Longest time from the first start after a fault to health.
    pub(crate) longest_start: Duration,
    /// Longest time from SIGTERM to the end.
    pub(crate) longest_end: Duration,
    /// The most memory that a process of this kind has had, in KiB.
    pub(crate) memory: BTreeMap<String, u64>,
}

impl Members {
    /// All are up.
    pub(crate) fn new(members: &[Member]) -> Self {
        Self {
            states: members.iter().map(|&member| (member, State::Up)).collect(),
            looks: JoinSet::new(),
            measured: Instant::now(),
            figures: Figures::default(),
            violations: Vec::new(),
        }
    }

    pub(crate) fn are_up(&self) -> bool {
        self.states.values().all(|state| *state == State::Up)
    }

    pub(crate) fn is_up(&self, member: Member) -> bool {
        self.states.get(&member) == Some(&State::Up)
    }

    pub(super) fn strike(
        &mut self,
        system: &mut System,
        member: Member,
        blow: Blow,
        outages: &mut Outages,
    ) -> bool {
        let can = match self.states.get(&member) {
            Some(State::Up | State::Recovering { .. }) => true,
            // A starting process may end by itself, which must not be taken for a late end.
            Some(State::Starting { .. }) => !matches!(blow, Blow::Pause(_)),
            _ => false,
        };
        if !can || !system.is_running(member) {
            return false;
        }
        self.measure(system, member);
        let now = Instant::now();
        let (signal, state) = match blow {
            Blow::Pause(time) => (Signal::SIGSTOP, State::Paused { until: now + time }),
            Blow::Kill(down_for) => {
                let since = now;
                // The process is gone before the next look.
                (Signal::SIGKILL, State::Ending { since, down_for })
            }
            Blow::Terminate(down_for) => {
                let since = now;
                (Signal::SIGTERM, State::Ending { since, down_for })
            }
            _ => return false,
        };
        outages.begin(Target::Member(member));
        system.signal(member, signal);
        self.states.insert(member, state);
        true
    }

    pub(super) async fn look_after(&mut self, system: &mut System, outages: &mut Outages) {
        while let Some(look) = self.looks.try_join_next() {
            if let Ok((member, true)) = look {
                self.is_healthy(member, outages);
            }
        }
        let members: Vec<Member> = self.states.keys().copied().collect();
        let measures = self.measured.elapsed() > BETWEEN_MEASUREMENTS;
        if measures {
            self.measured = Instant::now();
        }
        for member in members {
            self.look_after_one(system, member).await;
            if measures && self.is_up(member) {
                self.measure(system, member);
            }
        }
    }

    async fn look_after_one(&mut self, system: &mut System, member: Member) {
        let now = Instant::now();
        let Some(&state) = self.states.get(&member) else {
            return;
        };
        let runs = system.is_running(member);
        let next = match state {
            State::Starting { since } if !runs => {
                exit_code(system, member).await;
                self.figures.failed_starts += 1;
                State::Down {
                    until: now + RESTART_PAUSE,
                    since,
                }
            }
            State::Starting { .. } | State::Recovering { .. } if runs => {
                if self.looks.is_empty() {
                    self.ask(system);
                }
                state
            }
            State::Up | State::Recovering { .. } if !runs => {
                let code = exit_code(system, member).await;
                self.broken(member, format!("ended by itself with {code:?}"));
                State::Down {
                    until: now,
                    since: now,
                }
            }
            State::Paused { until } if now >= until => {
                system.signal(member, Signal::SIGCONT);
                State::Recovering { since: now }
            }
            State::Ending { since, down_for } if !runs => {
                let code = exit_code(system, member).await;
                self.figures.longest_end = self.figures.longest_end.max(since.elapsed());
                if code.is_some_and(|code| !ORDERLY.contains(&code)) {
                    self.broken(member, format!("ended with {code:?}"));
                }
                State::Down {
                    until: now + down_for,
                    since: now + down_for,
                }
            }
            State::Ending { since, down_for } if since.elapsed() > LONGEST_END => {
                self.broken(member, format!("did not end within {LONGEST_END:?}"));
                if let Some(process) = system.take(member) {
                    process.kill().await;
                }
                State::Down {
                    until: now + down_for,
                    since: now + down_for,
                }
            }
            State::Down { until, since } if now >= until => {
                system.launch(member);
                State::Starting { since }
            }
            _ => state,
        };
        self.states.insert(member, next);
    }

    /// Asks all that are starting whether they are healthy.
    fn ask(&mut self, system: &System) {
        for (&member, state) in &self.states {
            if matches!(state, State::Starting { .. } | State::Recovering { .. }) {
                let channel = system.health(member);
                self.looks
                    .spawn(async move { (member, serving(&channel).await.is_ok()) });
            }
        }
    }

    fn is_healthy(&mut self, member: Member, outages: &mut Outages) {
        if let Some(state) = self.states.get_mut(&member)
            && let State::Starting { since } | State::Recovering { since } = *state
        {
            *state = State::Up;
            self.figures.longest_start = self.figures.longest_start.max(since.elapsed());
            outages.end(Target::Member(member));
        }
    }

    fn measure(&mut self, system: &System, member: Member) {
        let Some(now) = processes::memory(system.pid(member)) else {
            return;
        };
        let name = match member {
            Member::Of(service, _) => service.name().to_owned(),
            Member::Whole => "cts".to_owned(),
        };
        let most = self.figures.memory.entry(name).or_default();
        *most = now.max(*most);
    }

    fn broken(&mut self, member: Member, evidence: String) {
        self.violations.push(Violation::new(
            Rule::NobodyDies,
            member.to_string(),
            evidence,
        ));
    }
}

async fn exit_code(system: &mut System, member: Member) -> Option<i32> {
    system.take(member)?.wait().await.code
}
