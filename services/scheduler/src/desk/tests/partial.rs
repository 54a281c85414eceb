//! Nothing is taken on partial data, and what triggers meanwhile is kept.

use super::later::{active, empty_desk, present, run, wanted};
use super::*;

/// A task on `web` that has been running for a while, with `web` read at 0 s.
fn running(desk: &mut Desk, spec: &TaskSpec) {
    desk.arrange([active(spec)], at(0));
    desk.observe(&id("web"), full(1, [instance("web", "w", 1)]), at(0))
        .unwrap();
}

fn change_web(desk: &mut Desk, revision: u64, now: Duration) {
    let port = i64::try_from(revision).unwrap();
    let changed = full(revision, [instance("web", "w", port)]);
    desk.observe(&id("web"), changed, now).unwrap();
}

#[test]
fn a_pending_change_waits_for_a_view_that_a_replacement_adds() {
    let before = task("t", &["web"], BufferPeriod::BUILT_IN);
    let after = task("t", &["web", "db"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk();
    running(&mut desk, &before);
    change_web(&mut desk, 2, at(1));
    assert_eq!(desk.next_due(), Some(at(6)));
    let check = wanted(1, RunKind::Check);
    desk.arrange([present(&after, Standing::Active, vec![check])], at(2));
    assert_eq!(desk.next_due(), Some(Duration::MAX), "only the patience");
    assert!(desk.take_due(at(100)).tasks.is_empty(), "db is not read");
    desk.observe(&id("db"), full(1, [instance("db", "d", 1)]), at(200))
        .unwrap();
    let due = desk.take_due(at(200)).tasks;
    let reasons: Vec<Why> = due.iter().map(|task| task.why).collect();
    assert_eq!(reasons, [Why::Change { first: false }, Why::Request(check)]);
    assert!(due.iter().all(|task| services(task).len() == 2));
}

#[test]
fn a_change_while_another_view_is_missing_is_kept() {
    let before = task("t", &["web"], BufferPeriod::DISABLED);
    let after = task("t", &["web", "db"], BufferPeriod::DISABLED);
    let mut desk = empty_desk().with_patience(at(60));
    running(&mut desk, &before);
    let check = wanted(1, RunKind::Check);
    desk.arrange([present(&after, Standing::Active, vec![check])], at(1));
    assert_eq!(desk.take_due(at(61)).overdue.len(), 1);
    desk.arrange([active(&after)], at(62));
    change_web(&mut desk, 2, at(63));
    assert_eq!(desk.next_due(), None);
    desk.observe(&id("db"), full(1, []), at(70)).unwrap();
    let due = desk.take_due(at(70)).tasks;
    assert_eq!(due[0].why, Why::Change { first: false });
    assert_eq!(desk.next_due(), None);
}

#[test]
fn the_first_pass_of_a_task_survives_a_replacement_before_its_data_came() {
    let before = task("t", &["web", "db"], BufferPeriod::BUILT_IN);
    let after = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut desk = Desk::new([&before]);
    desk.observe(&id("web"), full(1, []), at(0)).unwrap();
    desk.arrange([active(&after)], at(1));
    let due = desk.take_due(at(1)).tasks;
    assert_eq!(due[0].why, Why::Change { first: true });
}

#[test]
fn the_first_pass_is_not_lost_where_another_task_has_read_the_views_already() {
    let old = task("old", &["web"], BufferPeriod::DISABLED);
    let draft = task("draft", &["web"], BufferPeriod::DISABLED);
    let mut desk = Desk::new([&old]);
    desk.observe(&id("web"), full(1, []), at(0)).unwrap();
    assert_eq!(names(&desk.take_due(at(0)).tasks), ["old"]);
    // An earlier leader has taken it up, so nobody knows what it has missed.
    let creating = Standing::Draft { enabled: true };
    let tasks = [active(&old), present(&draft, creating, Vec::new())];
    desk.arrange(tasks, at(1));
    desk.arrange([active(&old), active(&draft)], at(2));
    let due = desk.take_due(at(2)).tasks;
    assert_eq!(names(&due), ["draft"]);
    assert_eq!(due[0].why, Why::Change { first: true });
}

#[test]
fn a_delta_that_does_not_fit_leaves_the_snapshot_and_the_pending_change() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk();
    running(&mut desk, &spec);
    change_web(&mut desk, 2, at(1));
    let misfit = ViewDelta {
        base: Some(7),
        revision: 8,
        upserts: Vec::new(),
        removals: Vec::new(),
    };
    assert!(desk.observe(&id("web"), misfit, at(2)).is_err());
    let due = desk.take_due(at(6)).tasks;
    assert_eq!(services(&due[0]).len(), 1);
    // The full snapshot that is asked for brings nothing new.
    change_web(&mut desk, 2, at(7));
    assert_eq!(desk.next_due(), None);
}

#[test]
fn a_view_that_goes_from_one_task_to_another_keeps_its_snapshot() {
    let drops = [
        task("a", &["web", "db"], BufferPeriod::DISABLED),
        task("a", &["web"], BufferPeriod::DISABLED),
    ];
    let gains = [
        task("b", &["web"], BufferPeriod::DISABLED),
        task("b", &["web", "db"], BufferPeriod::DISABLED),
    ];
    let mut desk = empty_desk();
    desk.arrange([active(&drops[0]), active(&gains[0])], at(0));
    for service in ["web", "db"] {
        let content = full(1, [instance(service, service, 1)]);
        desk.observe(&id(service), content, at(0)).unwrap();
    }
    let apply = wanted(1, RunKind::Apply);
    let after = [
        active(&drops[1]),
        present(&gains[1], Standing::Active, vec![apply]),
    ];
    assert!(!desk.arrange(after, at(1)), "the same views");
    let due = desk.take_due(at(1)).tasks;
    assert_eq!(names(&due), ["b"]);
    assert_eq!(services(&due[0]).len(), 2);
}

#[test]
fn what_was_to_be_applied_and_is_overdue_is_applied_with_the_complete_input() {
    let spec = task("t", &["web"], BufferPeriod::DISABLED);
    let mut desk = empty_desk().with_patience(at(60));
    let apply = wanted(1, RunKind::Apply);
    desk.arrange([present(&spec, Standing::Active, vec![apply])], at(0));
    let due = desk.take_due(at(60));
    assert_eq!((due.tasks.len(), due.overdue[0].run), (0, run(1)));
    desk.arrange([active(&spec)], at(61));
    desk.observe(&id("web"), full(1, []), at(90)).unwrap();
    let due = desk.take_due(at(90)).tasks;
    assert_eq!(due[0].why, Why::Change { first: false });
}
