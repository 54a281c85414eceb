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
    let room = Room { checks, calm: true };
    tasks.next(room, |_definition, _engine| Some(key(settings)))
}

/// The next steps while a run is due.
fn next_beside_due_runs(tasks: &mut DisabledTasks) -> Vec<Step> {
    let room = Room {
        checks: 9,
        calm: false,
    };
    tasks.next(room, |_definition, _engine| Some(key("1")))
}

/// Each task has begun a check that no longer gives way, because it gave way too often.
fn insisting(names: &[&str]) -> DisabledTasks {
    let mut tasks = with(names, Since::Start);
    let mut number = 0;
    for _ in 0..INTERRUPTIONS {
        next(&mut tasks, 9, "1");
        for task in names {
            number += 1;
            tasks.begun(&name(task), run(number));
            assert!(tasks.yielding().contains(&(name(task), run(number))));
            tasks.gives_way(&name(task), run(number), true);
            tasks.gone(&name(task), run(number));
        }
    }
    tasks
}

#[test]
fn tasks_are_checked_once_and_within_the_free_slots() {
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
    assert_eq!(next(&mut tasks, 0, "1"), []);
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
    tasks.settings_changed();
    assert_eq!(next(&mut tasks, 9, "1"), [], "of another block");
    tasks.settings_changed();
    assert_eq!(next(&mut tasks, 9, "2"), [Step::Check(name("a"))]);
}

#[test]
fn a_task_that_was_enabled_a_moment_ago_is_ready() {
    let mut tasks = with(&["a"], Since::Disabled);
    assert_eq!(next(&mut tasks, 9, "1"), []);
    assert_eq!(tasks.left(), 0);
    tasks.settings_changed();
    assert_eq!(next(&mut tasks, 9, "2"), [Step::Check(name("a"))]);
}

#[test]
fn without_settings_a_task_waits() {
    let mut tasks = with(&["a"], Since::Start);
    let room = Room {
        checks: 9,
        calm: true,
    };
    assert_eq!(tasks.next(room, |_definition, _engine| None), []);
    assert_eq!(tasks.left(), 1);
}

#[test]
fn a_check_gives_way_three_times_and_then_runs_to_its_end() {
    let mut tasks = insisting(&["a"]);
    assert_eq!(next(&mut tasks, 1, "1"), [Step::Check(name("a"))]);
    tasks.begun(&name("a"), run(9));
    assert_eq!(tasks.yielding(), []);
    assert_eq!(tasks.giving_way(), 0);
    let ended = tasks.read(&name("a"), Some(check("1", 9, Some(CheckOutcome::Passed))));
    assert_eq!(ended, Some(CheckOutcome::Passed));
    // A changed declaration starts from the beginning.
    let mut changed = spec("a");
    changed.definition.description = "another".to_owned();
    tasks.note(&changed, Since::Later);
    tasks.read(&name("a"), None);
    next(&mut tasks, 1, "2");
    tasks.begun(&name("a"), run(10));
    assert_eq!(tasks.yielding(), [(name("a"), run(10))]);
}

#[test]
fn checks_that_give_way_no_more_run_one_at_a_time_and_never_two_in_a_row() {
    let mut tasks = insisting(&["a", "b"]);
    assert_eq!(next_beside_due_runs(&mut tasks), [], "a run is due");
    assert_eq!(next(&mut tasks, 9, "1"), [Step::Check(name("a"))]);
    tasks.begun(&name("a"), run(9));
    assert_eq!(next(&mut tasks, 9, "1"), [], "one at a time");
    tasks.read(&name("a"), Some(check("1", 9, Some(CheckOutcome::Passed))));
    assert_eq!(next_beside_due_runs(&mut tasks), [], "the due run is first");
    assert_eq!(next(&mut tasks, 9, "1"), [], "nothing is due for a moment");
    assert_eq!(next(&mut tasks, 9, "1"), [Step::Check(name("b"))]);
}

#[test]
fn a_check_that_is_withdrawn_before_it_begins_has_not_given_way() {
    let mut tasks = with(&["a"], Since::Start);
    for number in 0..10 {
        assert_eq!(next(&mut tasks, 1, "1"), [Step::Check(name("a"))]);
        tasks.begun(&name("a"), run(number));
        assert_eq!(tasks.yielding(), [(name("a"), run(number))]);
        tasks.gives_way(&name("a"), run(number), false);
    }
    assert_eq!(tasks.left(), 1);
}

#[test]
fn a_check_gives_way_once_for_each_interruption() {
    let mut tasks = with(&["a"], Since::Start);
    next(&mut tasks, 1, "1");
    tasks.begun(&name("a"), run(1));
    tasks.gives_way(&name("a"), run(1), true);
    assert_eq!((tasks.yielding(), tasks.giving_way()), (Vec::new(), 1));
    // The check ended with an outcome nevertheless.
    let ended = tasks.read(&name("a"), Some(check("1", 1, Some(CheckOutcome::Passed))));
    assert_eq!((ended, tasks.left()), (Some(CheckOutcome::Passed), 0));
}
