//! After any changes, kept states equal rebuilt states.

use chrono::TimeDelta;
use cts_core::callers::TaskPatterns;
use cts_core::runs::RunKind;
use cts_core::{Blocked, InstanceCounts, RunId, TaskStatus};
use cts_proto::overview::grid_character;
use cts_proto::task::v1::ListTaskPageRequest;
use cts_store::ShownRun;
use uuid::Uuid;

use super::*;
use crate::explain::known::{KnownProblem, KnownView};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Numbers that look random, the same for each seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// A moment within a minute of this one.
    fn near(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::seconds(i64::try_from(self.below(121)).unwrap() - 60)
    }
}

/// Content of a store.
struct Truth {
    dice: Dice,
    now: DateTime<Utc>,
    /// Tasks, those without facts not visible.
    tasks: BTreeMap<TaskName, Option<TaskFacts>>,
    runs: BTreeMap<(TaskName, bool), ShownRun>,
    no_worker: Option<String>,
    stuck: HashMap<TaskName, String>,
    hosts: HashMap<WorkerId, String>,
}

impl Truth {
    fn name(&mut self) -> TaskName {
        let place = self.dice.below(6);
        NAMES[usize::try_from(place).unwrap()].parse().unwrap()
    }

    fn view(&mut self) -> KnownView {
        let problem = self.dice.one_in(3).then(|| KnownProblem {
            text: format!("text {}", self.dice.below(2)),
            outage: self.dice.one_in(2),
            since: self.dice.near(self.now),
            next_try: None,
            last_answer: None,
        });
        KnownView {
            name: format!("view {}", self.dice.below(3)),
            complete: !self.dice.one_in(4),
            revision: 0,
            changed_at: None,
            triggers: true,
            problem,
            unreadable: None,
        }
    }

    fn facts(&mut self, task: &TaskName) -> TaskFacts {
        let statuses = [
            TaskStatus::Unknown,
            TaskStatus::Successful,
            TaskStatus::Errored,
            TaskStatus::Critical,
        ];
        let status = statuses[usize::try_from(self.dice.below(4)).unwrap()];
        let held = self.dice.one_in(5).then(|| Blocked {
            since: self.now,
            losses: Vec::new(),
            counts: InstanceCounts::default(),
            brake: None,
            causes: Vec::new(),
        });
        let views = (0..self.dice.below(3)).map(|_| self.view()).collect();
        let buffered_until = self.dice.one_in(3).then(|| self.dice.near(self.now));
        let waits_since = self.dice.one_in(2).then(|| self.dice.near(self.now));
        let known = KnownTask {
            views,
            waits_since,
            buffered_until,
            next_tick: None,
            decision: None,
        };
        let written = Written {
            as_of: self.now,
            known,
        };
        TaskFacts {
            state: TaskState {
                task: task.clone(),
                enabled: !self.dice.one_in(4),
                providers: Vec::new(),
                services: Vec::new(),
                status,
                events: Vec::new(),
                held,
                owes_run: None,
                check_error: None,
                conflict: None,
            },
            deleting: self.dice.one_in(6),
            explanation: Some(serde_json::to_string(&written).unwrap()),
        }
    }

    fn run(&mut self, task: &TaskName, is_running: bool) -> ShownRun {
        let worker = WorkerId::new(format!("w{}", self.dice.below(2)));
        ShownRun {
            id: RunId::from_uuid(Uuid::from_u128(u128::from(self.dice.below(1000)))),
            task: task.clone(),
            kind: RunKind::Apply,
            status: if is_running {
                RunStatus::Running
            } else {
                RunStatus::Queued
            },
            awaits: None,
            waiting_for: (is_running && self.dice.one_in(2)).then(|| "a lock".to_owned()),
            due_at: self.dice.near(self.now),
            started_at: None,
            worker: is_running.then_some(worker),
            phase: None,
            error: self.dice.one_in(2).then(|| "the port is taken".to_owned()),
        }
    }

    /// Changes something, and returns the task that is reported as changed.
    fn change(&mut self) -> Option<TaskName> {
        let name = self.name();
        match self.dice.below(9) {
            0..=2 => {
                let facts = self.facts(&name);
                self.tasks.insert(name.clone(), Some(facts));
                return Some(name);
            }
            3 => {
                self.tasks.insert(name.clone(), None);
                return Some(name);
            }
            4 => {
                self.tasks.remove(&name);
                self.runs.retain(|(task, _), _| *task != name);
            }
            5 | 6 => {
                let is_running = self.dice.one_in(2);
                let run = self.run(&name, is_running);
                if self.runs.remove(&(name.clone(), is_running)).is_none() {
                    self.runs.insert((name, is_running), run);
                }
            }
            7 => {
                let seconds = i64::try_from(self.dice.below(40)).unwrap() - 5;
                self.now += TimeDelta::seconds(seconds);
            }
            _ => {
                let reason = "there is no worker".to_owned();
                self.no_worker = self.dice.one_in(2).then_some(reason);
                let worker = WorkerId::new(format!("w{}", self.dice.below(2)));
                let host = format!("host {}", self.dice.below(3));
                self.hosts.insert(worker, host);
                if self.stuck.remove(&name).is_none() {
                    self.stuck.insert(name, "put the block back".to_owned());
                }
            }
        }
        None
    }

    fn reading(&self, changed: Vec<TaskName>, present: bool) -> Reading {
        let facts = changed.iter().collect::<BTreeSet<_>>().into_iter();
        let facts = facts.filter_map(|name| self.tasks.get(name).cloned().flatten());
        let names: HashSet<TaskName> = self.tasks.keys().cloned().collect();
        Reading {
            facts: facts.map(NotedFacts::from).collect(),
            changed,
            present: present.then_some(names),
            runs: self.runs.values().cloned().collect(),
            common: Common {
                hosts: self.hosts.clone(),
                no_worker: self.no_worker.clone(),
                stuck: self.stuck.clone(),
            },
        }
    }
}

fn kept(id: u128) -> KeptStates {
    KeptStates::new(Incarnation::from_uuid(Uuid::from_u128(id)))
}

fn states(kept: &KeptStates) -> BTreeMap<TaskName, proto::CurrentState> {
    let states = kept.states();
    states
        .map(|(name, state)| (name.clone(), state.clone()))
        .collect()
}

fn patterns(text: &str) -> TaskPatterns {
    TaskPatterns::new(vec![text.to_owned()]).unwrap()
}

/// The number of the newest change, and each task with everything that it is shown by.
type Shown = (u64, BTreeMap<TaskName, (TaskMark, [String; 2])>);

fn shown(kept: &KeptStates) -> Shown {
    // 0 is no number of a change.
    let marks = kept.marks(&TaskPatterns::default(), 0);
    let (newest, marks) = marks.unwrap_or_default();
    let shown = marks.into_iter().map(|(name, mark)| {
        assert_eq!(kept.mark(&name), Some(mark));
        assert!(mark.state.max(mark.facts) <= newest, "{mark:?}");
        let task = kept.tasks[&name].as_ref().unwrap();
        let texts = [
            format!("{:?}", task.state),
            format!("{:?} {:?}", task.facts, task.run),
        ];
        (name, (mark, texts))
    });
    let shown = shown.collect();
    assert!(newest == 0 || kept.marks(&TaskPatterns::default(), newest).is_none());
    (newest, shown)
}

/// The mark of a task changes whenever its state, its facts or its run do, and a task that goes counts, too.
fn assert_marked((count, before): &Shown, (newest, after): &Shown, place: &str) {
    if before.keys().ne(after.keys()) {
        assert!(newest > count, "{place}");
    }
    for (name, (mark, [state, facts])) in after {
        let known = before.get(name);
        let number = |is_same: bool, number: u64| is_same || number > *count;
        let is_same = known.is_some_and(|(_, [known, _])| known == state);
        assert!(number(is_same, mark.state), "{place}: {mark:?}");
        let is_same = known.is_none_or(|(_, [_, known])| known == facts);
        assert!(number(is_same, mark.facts), "{place}: {mark:?}");
    }
}

/// The part of some tasks, their page and their grid are of the same tasks.
fn assert_answers_agree(kept: &KeptStates, tasks: &TaskPatterns, place: &str) {
    let visible = states(kept).into_iter();
    let visible: Vec<_> = visible
        .filter(|(name, _)| tasks.matches(name.as_str()))
        .map(|(name, state)| named(&name, &state))
        .collect();
    let page = kept.page(&ListTaskPageRequest::default(), tasks);
    assert_eq!(page.states, visible, "{place}");
    assert_eq!(page.total as usize, visible.len(), "{place}");
    assert_eq!(kept.grid(tasks).len(), visible.len(), "{place}");
    let part = kept.part(tasks, usize::MAX);
    let counts = part.summary.counts.iter();
    let counted: u32 = counts.map(|(_, count)| count).sum();
    assert_eq!(counted, page.total, "{place}");
    let mut problems = part.summary.problems.iter();
    assert!(
        problems.all(|(name, _)| tasks.matches(name.as_str())),
        "{place}"
    );
    assert!(part.depth.ready <= part.depth.queued, "{place}");
}

/// Disabled and enabled tasks in turn, the disabled ones with events at these seconds.
fn in_turn(count: u32) -> KeptStates {
    let mut truth = Truth {
        dice: Dice(7),
        now: DateTime::from_timestamp(1_770_110_130, 0).unwrap(),
        tasks: BTreeMap::new(),
        runs: BTreeMap::new(),
        no_worker: None,
        stuck: HashMap::new(),
        hosts: HashMap::new(),
    };
    for number in 0..count {
        let name: TaskName = format!("Task_{number:04}").parse().unwrap();
        let facts = truth.facts(&name);
        let state = TaskState {
            enabled: number % 2 == 0,
            held: None,
            status: TaskStatus::Unknown,
            ..facts.state
        };
        let facts = TaskFacts {
            state,
            deleting: false,
            explanation: None,
        };
        truth.tasks.insert(name.clone(), Some(facts));
        if number % 3 == 0 {
            let run = ShownRun {
                started_at: Some(truth.now - TimeDelta::seconds(i64::from(number))),
                waiting_for: None,
                ..truth.run(&name, true)
            };
            truth.runs.insert((name, true), run);
        }
    }
    let mut kept = kept(1);
    let all = truth.tasks.keys().cloned().collect();
    kept.take(truth.reading(all, true), truth.now);
    kept
}

#[test]
fn pages_are_filtered_sorted_and_complete() {
    let kept = in_turn(450);
    let all = TaskPatterns::default();
    let page = |request: ListTaskPageRequest| {
        let page = kept.page(&request, &all);
        let names = page.states.into_iter().map(|state| state.task_name);
        (names.collect::<Vec<_>>(), page.total, page.pages)
    };
    let numbered = |number: u32| format!("Task_{number:04}");
    let mut names = Vec::new();
    for number in 1..=4 {
        let (page, total, pages) = page(ListTaskPageRequest {
            page: number,
            ..ListTaskPageRequest::default()
        });
        assert_eq!((total, pages), (450, 3));
        assert_eq!(page.len(), [200, 200, 50, 0][number as usize - 1]);
        names.extend(page);
    }
    assert_eq!(names, (0..450).map(numbered).collect::<Vec<_>>());
    assert_eq!(kept.grid(&all).len(), 450);
    assert!(kept.grid(&all).starts_with("rdnrnd"), "{}", kept.grid(&all));

    let disabled: i32 = proto::CurrentStateName::Disabled.into();
    let (names, total, pages) = page(ListTaskPageRequest {
        search: "task_01".to_owned(),
        states: vec![disabled],
        ..ListTaskPageRequest::default()
    });
    let expected = (100..200).filter(|number| number % 2 == 1 && number % 3 != 0);
    let expected: Vec<String> = expected.map(numbered).collect();
    assert_eq!((names, total, pages), (expected, 34, 1));

    // Running tasks come before disabled ones and those that never ran.
    let (names, _, _) = page(ListTaskPageRequest {
        order: proto::TaskOrder::State.into(),
        ..ListTaskPageRequest::default()
    });
    assert_eq!(names[..2], [numbered(0), numbered(3)]);
    assert_eq!(names[150..152], [numbered(1), numbered(5)]);
    let (names, _, _) = page(ListTaskPageRequest {
        order: proto::TaskOrder::Since.into(),
        ..ListTaskPageRequest::default()
    });
    assert_eq!(names[..2], [numbered(0), numbered(3)]);
    assert_eq!(names[150..152], [numbered(1), numbered(2)]);
    let nothing = page(ListTaskPageRequest {
        search: "x".to_owned(),
        ..ListTaskPageRequest::default()
    });
    assert_eq!(nothing, (Vec::new(), 0, 0));
}

#[test]
fn each_state_has_a_character_of_its_own() {
    let states = CurrentState::ALL.map(convert::current_state_to_wire);
    let characters: BTreeSet<char> = states.map(grid_character).into();
    assert_eq!(characters.len(), states.len());
    assert!(characters.iter().all(char::is_ascii_lowercase));
}

#[test]
fn kept_states_are_those_that_would_be_made_anew() {
    for seed in 1..=40 {
        let mut truth = Truth {
            dice: Dice(seed),
            now: DateTime::from_timestamp(1_770_110_130, 0).unwrap(),
            tasks: BTreeMap::new(),
            runs: BTreeMap::new(),
            no_worker: None,
            stuck: HashMap::new(),
            hosts: HashMap::new(),
        };
        let mut followed = kept(1);
        let all_tasks = patterns("*");
        // A caller that asks now and then.
        let (mut known, mut version) = (BTreeMap::new(), String::new());
        for step in 0..300 {
            let changes = 1 + truth.dice.below(4);
            let changed: Vec<_> = (0..changes).filter_map(|_| truth.change()).collect();
            // A store leaves out tasks that were changed and removed since the last read.
            let changed: Vec<_> = changed
                .into_iter()
                .filter(|name| truth.tasks.contains_key(name))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
            let are_gone = !followed.are(truth.tasks.len(), &changed);
            let now = truth.now;
            let before = shown(&followed);
            followed.take(truth.reading(changed, are_gone), now);
            let mut anew = kept(2);
            let all = truth.tasks.keys().cloned().collect();
            anew.take(truth.reading(all, true), now);
            let place = format!("seed {seed}, step {step}");
            assert_eq!(states(&followed), states(&anew), "{place}");
            assert_marked(&before, &shown(&followed), &place);
            let summary = followed.summary(3);
            assert_eq!(summary, anew.summary(3), "{place}");
            let part = followed.part(&all_tasks, 3);
            assert_eq!(part.summary, summary, "{place}");
            let mut parts = Vec::new();
            for patterns in [patterns("[a-b]"), patterns("[c-f]")] {
                assert_answers_agree(&followed, &patterns, &place);
                parts.push(followed.part(&patterns, 3));
            }
            let sum = |number: fn(&Part) -> u64| parts.iter().map(number).sum::<u64>();
            assert_eq!(sum(|it| it.depth.queued), part.depth.queued, "{place}");
            assert_eq!(sum(|it| it.depth.running), part.depth.running, "{place}");
            let problems = |part: &Part| part.summary.problem_count as u64;
            assert_eq!(sum(problems), problems(&part), "{place}");
            if truth.dice.one_in(3) {
                let versions = followed.versions();
                let asked = [version.clone(), "other.7".to_owned()];
                match versions.known(&asked) {
                    None => known = states(&followed),
                    Some((number, _)) => {
                        for name in versions.gone_after(number) {
                            known.remove(name);
                        }
                        for name in versions.changed_after(number) {
                            let state = followed.state(name).unwrap();
                            known.insert(name.clone(), state.clone());
                        }
                    }
                }
                version = versions.newest();
                assert_eq!(known, states(&followed), "{place}");
            }
        }
    }
}
