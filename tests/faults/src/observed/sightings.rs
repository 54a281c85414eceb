//! Terraform processes, seen from outside: a thread that looks through `/proc` again and again.
//!
//! The journals have only the steps in modules; this has every command of Terraform and of all that it
//! has started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::processes::{self, group_and_start, uptime};
use crate::violation::{Rule, Violation};

const TASK_DIRECTORY: &str = "CTS_TASK_DIR=";
const WORKER: &str = "CTS_WORKER=";
/// Stands for a worker without a name.
pub(crate) const NO_WORKER: &str = "none";
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);
/// A process older than this, in hundredths of a second, has got the environment that it keeps.
const GROWN_UP: u64 = 50;

/// A process group at work for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Name of the task.
    pub task: String,
    /// Id of the worker that has started it.
    pub worker: String,
    /// Process group: every command of Terraform has one of its own.
    pub group: u32,
    /// Start of its first process, in hundredths of a second since the machine was started.
    pub from: u64,
    /// When it was last seen, by the same clock.
    pub until: u64,
}

impl Sighting {
    /// Whether it may be work of this worker: one without a guard gives its Terraform no name.
    pub fn may_be_of(&self, worker: &str) -> bool {
        self.worker == worker || self.worker.is_empty() || self.worker == NO_WORKER
    }
}

/// Observes processes between begin and end, see the module.
#[derive(Debug)]
pub struct Lookout {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Sighting>>,
}

impl Lookout {
    /// Begins to look for processes in task directories below `site`.
    pub fn begin(site: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !stopped.load(Ordering::Relaxed) {
                look(&site, &mut seen);
                std::thread::sleep(BETWEEN_LOOKS);
            }
            seen.groups.into_values().collect()
        });
        Self { stop, thread }
    }

    /// Ends the search.
    pub fn end(self) -> Vec<Sighting> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Sightings by process group, task, and worker; a group's number is used again after a while.
    groups: BTreeMap<(String, String, u32, u64), Sighting>,
    /// Processes that have nothing to do with Terraform, by process id, with their start.
    others: BTreeMap<u32, u64>,
}

fn look(site: &Path, seen: &mut Seen) {
    let now = uptime();
    let mut alive: BTreeMap<(String, String, u32), u64> = BTreeMap::new();
    for pid in processes::all() {
        let Some((_, started)) = group_and_start(pid) else {
            continue;
        };
        if seen.others.get(&pid) == Some(&started) {
            continue;
        }
        // A zombie has no environment.
        let Some((task, worker)) = at_work(pid, site) else {
            if started + GROWN_UP < now {
                seen.others.insert(pid, started);
            }
            continue;
        };
        // A new process has its own group before it has this environment, and its parent's until then.
        let Some((group, _)) = group_and_start(pid) else {
            continue;
        };
        let first = alive.entry((task, worker, group)).or_insert(started);
        *first = started.min(*first);
    }
    for ((task, worker, group), started) in alive {
        let leader = group_and_start(group).map_or(started, |(_, leader)| leader.min(started));
        let mut groups = seen.groups.values_mut().rev();
        if let Some(known) = groups.find(|known| is_same(known, &task, &worker, group, now)) {
            if known.worker.is_empty() {
                known.worker = worker;
            }
            known.until = now;
            known.from = known.from.min(leader);
        } else {
            let key = (task.clone(), worker.clone(), group, leader);
            seen.groups.insert(
                key,
                Sighting {
                    task,
                    worker,
                    group,
                    from: leader,
                    until: now.max(leader),
                },
            );
        }
    }
}

/// Seen without a break: the same group. The number of a group is not used again within a second. The
/// environment of a process that is just being started may be read in part, without the worker.
fn is_same(known: &Sighting, task: &str, worker: &str, group: u32, now: u64) -> bool {
    known.group == group
        && known.task == task
        && (known.worker == worker || known.worker.is_empty() || worker.is_empty())
        && known.until + 100 > now
}

/// Task and worker of a process in a task directory below `site`.
fn at_work(pid: u32, site: &Path) -> Option<(String, String)> {
    let environment = processes::environment(pid)?;
    let value = |name: &str| environment.iter().find_map(|one| one.strip_prefix(name));
    let directory = Path::new(value(TASK_DIRECTORY)?);
    directory.strip_prefix(site).ok()?;
    let task = directory.file_name()?.to_str()?.to_owned();
    Some((task, value(WORKER).unwrap_or_default().to_owned()))
}

/// Two processes at work on one task at once.
///
/// The end of each is known only as "not before", so that no process is taken to be at work when it was not.
/// Workers that were killed with their guards leave Terraform running, which only the lock of the state keeps
/// apart from the next process: `excused` are such processes.
pub fn overlaps(sightings: &[Sighting], excused: impl Fn(&Sighting) -> bool) -> Vec<Violation> {
    let mut sorted: Vec<&Sighting> = sightings.iter().filter(|one| !excused(one)).collect();
    sorted.sort_by_key(|sighting| (&sighting.task, sighting.from));
    let mut violations = Vec::new();
    let mut longest: Option<&Sighting> = None;
    for sighting in sorted {
        let earlier = longest.filter(|earlier| earlier.task == sighting.task);
        if let Some(earlier) = earlier
            && sighting.from < earlier.until
        {
            violations.push(Violation::new(
                Rule::OneApplyAtATime,
                &sighting.task,
                format!("{earlier:?} was alive when {sighting:?} was started"),
            ));
        }
        if earlier.is_none_or(|earlier| earlier.until < sighting.until) {
            longest = Some(sighting);
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(task: &str, worker: &str, group: u32, from: u64, until: u64) -> Sighting {
        Sighting {
            task: task.to_owned(),
            worker: worker.to_owned(),
            group,
            from,
            until,
        }
    }

    #[test]
    fn consecutive_attempts_and_parallel_tasks_are_no_violation() {
        let seen = [
            sighting("a", "w1", 5, 100, 200),
            sighting("b", "w1", 6, 150, 250),
            sighting("a", "w2", 7, 200, 300),
        ];
        assert_eq!(overlaps(&seen, |_| false), []);
    }

    #[test]
    fn two_at_once_are_found_also_behind_a_short_one() {
        let seen = [
            sighting("a", "w1", 5, 100, 500),
            sighting("a", "w1", 6, 600, 700),
            sighting("a", "w2", 7, 450, 460),
            sighting("a", "w2", 8, 490, 495),
        ];
        assert_eq!(overlaps(&seen, |_| false).len(), 2);
        assert_eq!(overlaps(&seen, |one| one.worker == "w2"), []);
    }

    #[test]
    fn the_machine_has_a_clock_and_this_process_a_start() {
        let (_, started) = group_and_start(std::process::id()).unwrap();
        assert!(started <= uptime() && started > 0);
    }

    #[test]
    fn a_group_whose_worker_was_not_read_is_still_one() {
        let known = sighting("a", "", 7, 100, 200);
        assert!(is_same(&known, "a", "w", 7, 203));
        assert!(is_same(&sighting("a", "w", 7, 100, 200), "a", "", 7, 203));
        assert!(!is_same(&sighting("a", "v", 7, 100, 200), "a", "w", 7, 203));
        assert!(!is_same(&known, "b", "w", 7, 203));
        assert!(!is_same(&known, "a", "w", 8, 203));
        assert!(
            !is_same(&known, "a", "w", 7, 900),
            "the number is another group's by now"
        );
    }
}
