//! Which disabled tasks are ready to be enabled, and which are to be checked (docs/runs.md#disabled-tasks); without
//! IO.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::{
    CheckOutcome, Digest, Requirement, RunId, TaskCheck, TaskDefinition, TaskName, TaskSpec,
};

/// The disabled tasks of a leader.
#[derive(Debug, Default)]
pub(crate) struct DisabledTasks {
    tasks: BTreeMap<TaskName, DisabledTask>,
}

#[derive(Debug)]
struct DisabledTask {
    definition: Arc<TaskDefinition>,
    engine: Requirement,
    /// Its newest check, as far as is known.
    check: Option<TaskCheck>,
    state: State,
    /// It was enabled before, in this term, so that it counts as ready as it is.
    was_enabled: bool,
    /// The outcome is logged.
    tells: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its newest check has not been read.
    Unread,
    /// To be compared with its newest check.
    Known,
    /// A check is requested, queued or running.
    Checked {
        run: RunId,
        /// It was requested in this term, for this.
        own: bool,
    },
    /// Nothing more is done for it, until something changes.
    Ready,
}

/// Since when a task is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Since the term began.
    Start,
    /// It came, or was changed, later.
    Later,
    /// It was enabled before, in this term.
    Disabled,
}

/// What is to be done for a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is to be checked.
    Check(TaskName),
    /// An earlier check had this end, and counts.
    Remembered(TaskName, CheckOutcome),
}

impl DisabledTask {
    fn is_of(&self, task: &TaskSpec) -> bool {
        *self.definition == task.definition && self.engine == task.requirement
    }
}

impl DisabledTasks {
    /// A disabled task is there, or may be another than before.
    pub(crate) fn note(&mut self, task: &TaskSpec, since: Since) {
        let known = self.tasks.get(task.name());
        if known.is_some_and(|known| known.is_of(task)) {
            return;
        }
        let disabled = DisabledTask {
            definition: Arc::new(task.definition.clone()),
            engine: task.requirement.clone(),
            check: None,
            state: State::Unread,
            was_enabled: since == Since::Disabled,
            tells: since == Since::Start,
        };
        self.tasks.insert(task.name().clone(), disabled);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Leaves the tasks that are disabled still.
    pub(crate) fn retain(&mut self, is_disabled: impl Fn(&TaskName) -> bool) {
        self.tasks.retain(|name, _task| is_disabled(name));
    }

    /// Other settings are in force.
    pub(crate) fn settings_changed(&mut self) {
        for task in self.tasks.values_mut() {
            if task.state == State::Ready {
                task.state = State::Known;
            }
        }
    }

    /// Tasks whose newest checks are to be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &TaskName> {
        let unread = self.tasks.iter().filter(|(_name, task)| match task.state {
            State::Unread | State::Checked { .. } => true,
            State::Known | State::Ready => false,
        });
        unread.map(|(name, _task)| name)
    }

    /// Notes the newest check of a task. Returns its outcome if the task waited for it, and it is to be logged.
    pub(crate) fn read(
        &mut self,
        name: &TaskName,
        check: Option<TaskCheck>,
    ) -> Option<CheckOutcome> {
        let task = self.tasks.get_mut(name)?;
        match task.state {
            State::Unread => {
                task.state = State::Known;
                task.check = check;
                None
            }
            State::Checked { run, .. } => {
                let check = check.filter(|check| check.run == run)?;
                let outcome = check.outcome.clone()?;
                task.state = State::Ready;
                task.check = Some(check);
                std::mem::take(&mut task.tells).then_some(outcome)
            }
            State::Known | State::Ready => None,
        }
    }

    /// Checks that are queued or running.
    pub(crate) fn checked(&self) -> Vec<(TaskName, RunId)> {
        let checked = self
            .tasks
            .iter()
            .filter_map(|(name, task)| match task.state {
                State::Checked { run, .. } => Some((name.clone(), run)),
                _ => None,
            });
        checked.collect()
    }

    /// A check is queued.
    pub(crate) fn begun(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name) {
            task.state = State::Checked { run, own: true };
            task.tells = true;
        }
    }

    /// A check has ended; if its task still waits for an outcome, it was cancelled. In this term that was a person,
    /// otherwise the end of a process.
    pub(crate) fn gone(&mut self, name: &TaskName, run: RunId) {
        if let Some(task) = self.tasks.get_mut(name)
            && let State::Checked {
                run: waits_for,
                own,
            } = task.state
            && waits_for == run
        {
            task.state = if own { State::Ready } else { State::Known };
            task.check = None;
        }
    }

    /// How many tasks are not ready.
    pub(crate) fn left(&self) -> usize {
        let tasks = self.tasks.values();
        tasks.filter(|task| task.state != State::Ready).count()
    }

    /// The next steps, with at most so many checks. `key` tells what the check of a task would have; `None` while the
    /// settings are not known.
    pub(crate) fn next(
        &mut self,
        mut checks: usize,
        key: impl Fn(&Arc<TaskDefinition>, &Requirement) -> Option<Digest>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for (name, task) in &mut self.tasks {
            if task.state != State::Known {
                continue;
            }
            let Some(key) = key(&task.definition, &task.engine) else {
                continue;
            };
            let known = task.check.as_ref().filter(|check| check.key == key);
            match known.map(|check| (check.run, check.outcome.clone())) {
                Some((_run, Some(outcome))) => {
                    task.state = State::Ready;
                    if std::mem::take(&mut task.tells) {
                        steps.push(Step::Remembered(name.clone(), outcome));
                    }
                }
                // Its caller, or an earlier leader, has queued it.
                Some((run, None)) => task.state = State::Checked { run, own: false },
                None if task.was_enabled => task.state = State::Ready,
                None if checks > 0 => {
                    checks -= 1;
                    steps.push(Step::Check(name.clone()));
                }
                None => {}
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use cts_testkit::fixtures;
    use uuid::Uuid;

    use super::*;

    fn spec(name: &str) -> TaskSpec {
        TaskSpec {
            enabled: false,
            ..fixtures::task(name, &["web"])
        }
    }

    fn name(name: &str) -> TaskName {
        name.parse().unwrap()
    }

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn key(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn check(text: &str, number: u128, outcome: Option<CheckOutcome>) -> TaskCheck {
        let (key, run) = (key(text), run(number));
        TaskCheck { key, run, outcome }
    }

    fn with(names: &[&str], since: Since) -> DisabledTasks {
        let mut tasks = DisabledTasks::default();
        for task in names {
            tasks.note(&spec(task), since);
            tasks.read(&name(task), None);
        }
        tasks
    }

    fn next(tasks: &mut DisabledTasks, checks: usize, settings: &str) -> Vec<Step> {
        tasks.next(checks, |_definition, _engine| Some(key(settings)))
    }

    #[test]
    fn each_is_checked_once_and_no_more_at_once_than_may_be() {
        let mut tasks = with(&["a", "b", "c"], Since::Start);
        let step = |task: &str| Step::Check(name(task));
        assert_eq!(next(&mut tasks, 0, "1"), []);
        assert_eq!(next(&mut tasks, 2, "1"), [step("a"), step("b")]);
        for (task, number) in [("a", 1), ("b", 2)] {
            tasks.begun(&name(task), run(number));
        }
        assert_eq!(next(&mut tasks, 0, "1"), []);
        assert_eq!(tasks.read(&name("a"), Some(check("1", 1, None))), None);
        let failed = CheckOutcome::Failed("no".to_owned());
        let ended = tasks.read(&name("a"), Some(check("1", 1, Some(failed.clone()))));
        assert_eq!(ended, Some(failed), "a failure ends it as well");
        assert_eq!(tasks.checked(), [(name("b"), run(2))]);
        assert_eq!(next(&mut tasks, 1, "1"), [step("c")]);
        tasks.gone(&name("b"), run(2));
        assert_eq!((tasks.left(), tasks.checked().len()), (1, 0));
    }

    #[test]
    fn nothing_is_repeated_before_declaration_or_settings_change() {
        let mut tasks = DisabledTasks::default();
        tasks.note(&spec("a"), Since::Start);
        let unread: Vec<_> = tasks.unread().cloned().collect();
        assert_eq!(unread, [name("a")]);
        let passed = Some(CheckOutcome::Passed);
        assert_eq!(tasks.read(&name("a"), Some(check("1", 1, passed))), None);
        let remembered = Step::Remembered(name("a"), CheckOutcome::Passed);
        assert_eq!(next(&mut tasks, 9, "1"), [remembered]);
        assert_eq!((tasks.left(), tasks.unread().count()), (0, 0));
        tasks.note(&spec("a"), Since::Later);
        tasks.settings_changed();
        assert_eq!(
            next(&mut tasks, 9, "1"),
            [],
            "those of another block have changed"
        );
        tasks.settings_changed();
        assert_eq!(next(&mut tasks, 9, "2"), [Step::Check(name("a"))]);
        let mut changed = spec("a");
        changed.definition.description = "another".to_owned();
        tasks.note(&changed, Since::Later);
        assert_eq!(tasks.unread().count(), 1);
        tasks.retain(|_task| false);
        assert_eq!(tasks.left(), 0);
    }

    #[test]
    fn a_check_that_somebody_else_has_begun_is_waited_for() {
        let mut tasks = DisabledTasks::default();
        tasks.note(&spec("a"), Since::Later);
        tasks.read(&name("a"), Some(check("1", 7, None)));
        assert_eq!(next(&mut tasks, 9, "1"), []);
        assert_eq!(tasks.checked(), [(name("a"), run(7))]);
        let ended = tasks.read(&name("a"), Some(check("1", 7, Some(CheckOutcome::Passed))));
        assert_eq!((ended, tasks.left()), (None, 0), "its caller logs it");
    }

    #[test]
    fn a_check_that_was_cut_off_is_repeated_by_the_next_leader() {
        let mut tasks = DisabledTasks::default();
        tasks.note(&spec("a"), Since::Start);
        tasks.read(&name("a"), Some(check("1", 7, None)));
        assert_eq!(next(&mut tasks, 9, "1"), []);
        tasks.gone(&name("a"), run(7));
        assert_eq!(next(&mut tasks, 9, "1"), [Step::Check(name("a"))]);
        tasks.begun(&name("a"), run(8));
        tasks.gone(&name("a"), run(8));
        assert_eq!(next(&mut tasks, 9, "1"), [], "a person has cancelled it");
        assert_eq!(tasks.left(), 0);
    }

    #[test]
    fn a_task_that_was_enabled_a_moment_ago_is_ready() {
        let mut tasks = with(&["a"], Since::Disabled);
        assert_eq!(next(&mut tasks, 9, "1"), []);
        assert_eq!(tasks.left(), 0);
    }

    #[test]
    fn without_settings_a_task_waits() {
        let mut tasks = with(&["a"], Since::Start);
        assert_eq!(tasks.next(9, |_definition, _engine| None), []);
        assert_eq!(tasks.left(), 1);
    }
}
