//! Tasks that a guard holds back.

use super::later::{active, desired, empty_planner};
use super::*;

fn guarded(max_shrink: &str) -> TaskSpec {
    let mut limited = task("t", &["web"], BufferPeriod::BUILT_IN);
    limited.file_settings.guard.max_shrink = Some(max_shrink.parse().unwrap());
    limited
}

fn is_held(spec: &TaskSpec) -> DesiredTask<'_> {
    DesiredTask {
        held: true,
        spec: None,
        ..active(spec)
    }
}

/// A planner whose one task was blocked when its input was examined.
fn holding(spec: &TaskSpec) -> Planner {
    let mut planner = empty_planner();
    planner.reconcile([active(spec)], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    let change = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", change, at(2));
    let due = planner.take_due(at(30)).tasks;
    assert_eq!(
        (names(&due), due[0].guard),
        (vec!["t"], spec.file_settings.guard)
    );
    planner.decided(spec.name(), at(30), Decision::Held("much".to_owned()));
    planner.reconcile([is_held(spec)], at(31));
    assert_eq!(planner.next_due(), None);
    planner
}

#[test]
fn blocked_task_waits_for_a_change() {
    let spec = guarded("50%");
    let mut planner = holding(&spec);
    sees(&mut planner, "web", full(3, []), at(40));
    assert_eq!(planner.next_due(), Some(at(45)), "after its buffer period");
}

#[test]
fn released_task_is_evaluated_again_at_once_and_once() {
    let spec = guarded("50%");
    let mut planner = holding(&spec);
    let released = || DesiredTask {
        spec: None,
        ..active(&spec)
    };
    planner.reconcile([released()], at(40));
    assert_eq!(planner.next_due(), Some(at(40)));
    assert_eq!(names(&planner.take_due(at(40)).tasks), ["t"]);
    planner.reconcile([released()], at(41));
    assert_eq!(planner.next_due(), None);
}

#[test]
fn task_blocked_before_it_was_disabled_can_be_released_afterwards() {
    let spec = guarded("50%");
    let mut planner = holding(&spec);
    planner.reconcile([desired(&spec, TaskMode::Disabled, Vec::new())], at(40));
    let enabled = |held| DesiredTask {
        held,
        ..active(&spec)
    };
    planner.reconcile([enabled(true)], at(50));
    sees(&mut planner, "web", full(9, []), at(51));
    assert_eq!(planner.next_due(), None);
    planner.reconcile([enabled(false)], at(60));
    assert_eq!(names(&planner.take_due(at(60)).tasks), ["t"]);
}

#[test]
fn another_guard_looks_again() {
    let mut planner = holding(&guarded("50%"));
    let other = guarded("90%");
    let changed = DesiredTask {
        held: true,
        ..active(&other)
    };
    planner.reconcile([changed], at(40));
    let due = planner.take_due(at(40)).tasks;
    assert_eq!(
        (names(&due), due[0].guard),
        (vec!["t"], other.file_settings.guard)
    );
}

#[test]
fn a_guard_that_holds_nothing_may_be_changed_without_a_run() {
    let spec = guarded("50%");
    let mut planner = empty_planner();
    planner.reconcile([active(&spec)], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    let other = guarded("90%");
    planner.reconcile([desired(&other, TaskMode::Active, Vec::new())], at(2));
    assert_eq!(planner.next_due(), None);
}
