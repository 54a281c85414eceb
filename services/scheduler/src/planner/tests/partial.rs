//! No input is taken from partial data, and triggers from that time are kept.

use super::later::{active, desired, empty_planner, requested, run};
use super::*;
use crate::planner::ViewProblem;

/// A task on `web` that has been running for a while, with `web` read at 0 s.
fn running(planner: &mut Planner, spec: &TaskSpec) {
    planner.reconcile([active(spec)], at(0));
    sees(planner, "web", full(1, [instance("web", "w", 1)]), at(0));
}

fn change_web(planner: &mut Planner, revision: u64, now: Duration) {
    let port = i64::try_from(revision).unwrap();
    let changed = full(revision, [instance("web", "w", port)]);
    sees(planner, "web", changed, now);
}

#[test]
fn a_pending_change_waits_for_a_view_that_a_replacement_adds() {
    let before = task("t", &["web"], BufferPeriod::BUILT_IN);
    let after = task("t", &["web", "db"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    running(&mut planner, &before);
    change_web(&mut planner, 2, at(1));
    assert_eq!(planner.next_due(), Some(at(6)));
    let check = requested(1, RunKind::Check);
    planner.reconcile([desired(&after, TaskMode::Active, vec![check])], at(2));
    assert_eq!(
        planner.next_due(),
        Some(Duration::MAX),
        "only the request timeout"
    );
    assert!(planner.take_due(at(100)).tasks.is_empty(), "db is not read");
    sees(
        &mut planner,
        "db",
        full(1, [instance("db", "d", 1)]),
        at(200),
    );
    let due = planner.take_due(at(200)).tasks;
    let reasons: Vec<EnqueueReason> = due.iter().map(|task| task.reason).collect();
    assert_eq!(reasons, [CHANGE, EnqueueReason::Request(check)]);
    assert!(due.iter().all(|task| services(task).len() == 2));
}

#[test]
fn a_change_while_another_view_is_missing_is_kept() {
    let before = task("t", &["web"], BufferPeriod::DISABLED);
    let after = task("t", &["web", "db"], BufferPeriod::DISABLED);
    let mut planner = empty_planner().with_request_timeout(at(60));
    running(&mut planner, &before);
    let check = requested(1, RunKind::Check);
    planner.reconcile([desired(&after, TaskMode::Active, vec![check])], at(1));
    assert_eq!(planner.take_due(at(61)).overdue.len(), 1);
    planner.reconcile([active(&after)], at(62));
    change_web(&mut planner, 2, at(63));
    assert_eq!(planner.next_due(), None);
    sees(&mut planner, "db", full(1, []), at(70));
    let due = planner.take_due(at(70)).tasks;
    assert_eq!(due[0].reason, CHANGE);
    assert_eq!(planner.next_due(), None);
}

#[test]
fn the_first_pass_of_a_task_survives_a_replacement_before_its_data_came() {
    let before = task("t", &["web", "db"], BufferPeriod::BUILT_IN);
    let after = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&before]);
    sees(&mut planner, "web", full(1, []), at(0));
    planner.reconcile([active(&after)], at(1));
    let due = planner.take_due(at(1)).tasks;
    assert_eq!(due[0].reason, FIRST);
}

#[test]
fn the_first_pass_is_not_lost_where_another_task_has_read_the_views_already() {
    let old = task("old", &["web"], BufferPeriod::DISABLED);
    let draft = task("draft", &["web"], BufferPeriod::DISABLED);
    let mut planner = Planner::new([&old]);
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(names(&planner.take_due(at(0)).tasks), ["old"]);
    // An earlier leader has started the creation, so the task may have missed changes.
    let creating = TaskMode::Draft { enabled: true };
    let tasks = [active(&old), desired(&draft, creating, Vec::new())];
    planner.reconcile(tasks, at(1));
    planner.reconcile([active(&old), active(&draft)], at(2));
    let due = planner.take_due(at(2)).tasks;
    assert_eq!(names(&due), ["draft"]);
    assert_eq!(due[0].reason, FIRST);
}

#[test]
fn a_delta_that_does_not_fit_leaves_the_snapshot_and_the_pending_change() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    running(&mut planner, &spec);
    change_web(&mut planner, 2, at(1));
    let misfit = ViewDelta {
        base: Some(7),
        revision: 8,
        upserts: Vec::new(),
        removals: Vec::new(),
        trace: None,
    };
    assert!(planner.observe(&id("web"), misfit, at(2)).is_err());
    let due = planner.take_due(at(6)).tasks;
    assert_eq!(services(&due[0]).len(), 1);
    // The full snapshot, which is requested then, brings nothing new.
    change_web(&mut planner, 2, at(7));
    assert_eq!(planner.next_due(), None);
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
    let mut planner = empty_planner();
    planner.reconcile([active(&drops[0]), active(&gains[0])], at(0));
    for service in ["web", "db"] {
        let content = full(1, [instance(service, service, 1)]);
        sees(&mut planner, service, content, at(0));
    }
    let apply = requested(1, RunKind::Apply);
    let after = [
        active(&drops[1]),
        desired(&gains[1], TaskMode::Active, vec![apply]),
    ];
    assert!(!planner.reconcile(after, at(1)), "the same views");
    let due = planner.take_due(at(1)).tasks;
    assert_eq!(names(&due), ["b"]);
    assert_eq!(services(&due[0]).len(), 2);
}

#[test]
fn overdue_apply_request_is_applied_with_the_complete_input() {
    let spec = task("t", &["web"], BufferPeriod::DISABLED);
    let mut planner = empty_planner().with_request_timeout(at(60));
    let apply = requested(1, RunKind::Apply);
    planner.reconcile([desired(&spec, TaskMode::Active, vec![apply])], at(0));
    let due = planner.take_due(at(60));
    assert_eq!((due.tasks.len(), due.overdue[0].requested.run), (0, run(1)));
    planner.reconcile([active(&spec)], at(61));
    sees(&mut planner, "web", full(1, []), at(90));
    let due = planner.take_due(at(90)).tasks;
    assert_eq!(due[0].reason, CHANGE);
}

fn problem(refused: bool) -> ViewProblem {
    ViewProblem {
        text: "No path to datacenter".to_owned(),
        refused,
        outage: false,
        since: chrono::DateTime::UNIX_EPOCH,
        next_try: None,
        last_answer: None,
    }
}

#[test]
fn a_request_does_not_wait_for_what_consul_refuses() {
    let spec = task("t", &["web", "api"], BufferPeriod::DISABLED);
    let mut planner = empty_planner().with_request_timeout(Duration::MAX);
    let [check, apply] = [(1, RunKind::Check), (2, RunKind::Apply)].map(|(n, k)| requested(n, k));
    planner.reconcile([desired(&spec, TaskMode::Active, vec![check])], at(0));
    planner.note_problem(&id("web"), problem(false));
    assert!(planner.take_due(at(1)).overdue.is_empty(), "it may come");
    planner.note_problem(&id("web"), problem(true));
    assert_eq!(planner.next_due(), Some(at(0)));
    let overdue = planner.take_due(at(2)).overdue;
    let refusal = Some((id("web"), "No path to datacenter".to_owned()));
    assert_eq!((overdue.len(), &overdue[0].refusal), (1, &refusal));
    // The next request finds the refusal there.
    planner.reconcile([desired(&spec, TaskMode::Active, vec![apply])], at(3));
    assert_eq!(planner.take_due(at(3)).overdue[0].refusal, refusal);
    // The refusal is over, and the requested apply happens.
    for name in ["web", "api"] {
        sees(&mut planner, name, full(1, []), at(4));
    }
    let due = planner.take_due(at(4));
    assert_eq!((due.tasks.len(), due.overdue.len()), (1, 0));
    // A later refusal does no harm to data that was read before.
    planner.note_problem(&id("web"), problem(true));
    planner.reconcile([desired(&spec, TaskMode::Active, vec![check])], at(5));
    let due = planner.take_due(at(5));
    assert_eq!((due.tasks.len(), due.overdue.len()), (1, 0));
}
