//! Requests, and tasks that come, change and go while the planner is in use.

use super::*;

pub(super) fn run(number: u32) -> RunId {
    format!("00000000-0000-7000-8000-{number:012}")
        .parse()
        .unwrap()
}

pub(super) fn requested(number: u32, kind: RunKind) -> RequestedRun {
    RequestedRun {
        run: run(number),
        kind,
    }
}

pub(super) fn desired(
    spec: &TaskSpec,
    mode: TaskMode,
    requests: Vec<RequestedRun>,
) -> DesiredTask<'_> {
    DesiredTask {
        name: spec.name(),
        spec: Some(spec),
        mode,
        held: false,
        requests,
    }
}

pub(super) fn active(spec: &TaskSpec) -> DesiredTask<'_> {
    desired(spec, TaskMode::Active, Vec::new())
}

const DRAFT: TaskMode = TaskMode::Draft { enabled: true };

/// The planner of a leader that has begun a while ago.
pub(super) fn empty_planner() -> Planner {
    let mut planner = Planner::new(&[]);
    planner.reconcile([], at(0));
    planner
}

#[test]
fn a_request_is_carried_out_as_soon_as_the_input_is_complete_and_once() {
    let spec = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    let check = requested(1, RunKind::Check);
    let asked = || [desired(&spec, DRAFT, vec![check])];
    assert!(planner.reconcile(asked(), at(0)), "there are views now");
    sees(&mut planner, "web", full(1, []), at(1));
    assert!(!planner.reconcile(asked(), at(1)), "the same views");
    assert!(planner.take_due(at(1)).tasks.is_empty());
    sees(&mut planner, "api", full(1, []), at(2));
    assert_eq!(planner.next_due(), Some(at(0)));
    let due = planner.take_due(at(2)).tasks;
    assert_eq!(names(&due), ["t"]);
    assert_eq!(due[0].reason, EnqueueReason::Request(check));
    assert_eq!(planner.next_due(), None);
    assert!(planner.take_due(at(3)).tasks.is_empty());
}

#[test]
fn changes_seen_by_a_disabled_task_do_not_run_it_when_enabled() {
    let spec = task("t", &["web"], BufferPeriod::DISABLED);
    let mut planner = empty_planner();
    let plan = vec![requested(1, RunKind::Plan)];
    planner.reconcile([desired(&spec, TaskMode::Disabled, plan)], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    assert_eq!(names(&planner.take_due(at(1)).tasks), ["t"]);
    let changed = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", changed, at(2));
    let check = requested(2, RunKind::Check);
    planner.reconcile([desired(&spec, TaskMode::Active, vec![check])], at(3));
    let due = planner.take_due(at(3)).tasks;
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].reason, EnqueueReason::Request(check));
    let changed = full(3, [instance("web", "w", 2)]);
    sees(&mut planner, "web", changed, at(4));
    planner.reconcile([active(&spec)], at(4));
    assert_eq!(names(&planner.take_due(at(4)).tasks), ["t"]);
}

#[test]
fn a_request_whose_input_stays_incomplete_is_overdue_after_the_request_timeout() {
    let spec = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner().with_request_timeout(at(60));
    let plan = requested(1, RunKind::Plan);
    planner.reconcile([desired(&spec, TaskMode::Disabled, vec![plan])], at(5));
    sees(&mut planner, "web", full(1, []), at(6));
    // Looking again does not give more time.
    planner.reconcile([desired(&spec, TaskMode::Disabled, vec![plan])], at(30));
    assert_eq!(planner.next_due(), Some(at(65)));
    assert!(planner.take_due(at(64)).overdue.is_empty());
    let overdue = planner.take_due(at(65)).overdue;
    let expected = Overdue {
        task: spec.name().clone(),
        requested: plan,
        incomplete: Some(IncompleteInput {
            missing: vec![id("api")],
            unreadable: Vec::new(),
        }),
        refusal: None,
    };
    assert_eq!(overdue, [expected]);
    assert!(planner.take_due(at(66)).overdue.is_empty());
}

#[test]
fn a_disabled_task_is_checked_without_data_but_not_planned() {
    let spec = TaskSpec {
        enabled: false,
        ..task("t", &["web"], BufferPeriod::BUILT_IN)
    };
    let draft = TaskMode::Draft { enabled: false };
    let mut planner = empty_planner();
    let requests = vec![requested(1, RunKind::Check), requested(2, RunKind::Plan)];
    planner.reconcile([desired(&spec, draft, requests)], at(0));
    let due = planner.take_due(at(0)).tasks;
    assert_eq!(due.len(), 1);
    assert_eq!(
        due[0].reason,
        EnqueueReason::Request(requested(1, RunKind::Check))
    );
    assert!(matches!(due[0].data, DueData::NotNeeded));
}

#[test]
fn the_first_input_of_a_task_that_comes_later_triggers_nothing_and_the_next_does() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    planner.reconcile([active(&spec)], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    assert_eq!(planner.next_due(), None);
    let change = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", change, at(10));
    assert_eq!(planner.next_due(), Some(at(15)), "buffered");
    let due = planner.take_due(at(15)).tasks;
    assert_eq!(due[0].reason, CHANGE);
}

#[test]
fn an_apply_that_is_requested_before_a_leader_begins_is_the_first_run() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&spec]);
    let apply = requested(1, RunKind::Apply);
    planner.reconcile([desired(&spec, TaskMode::Active, vec![apply])], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    let due = planner.take_due(at(1)).tasks;
    assert_eq!(due.len(), 1, "{due:?}");
    assert_eq!(due[0].reason, EnqueueReason::Request(apply));
    planner.reconcile([active(&spec)], at(2));
    assert_eq!(planner.next_due(), None);
}

#[test]
fn a_task_whose_views_are_known_already_waits_for_the_next_change() {
    let old = task("old", &["web"], BufferPeriod::DISABLED);
    let new = task("new", &["web"], BufferPeriod::DISABLED);
    let mut planner = Planner::new([&old]);
    planner.reconcile([active(&old)], at(0));
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(names(&planner.take_due(at(0)).tasks), ["old"]);
    assert!(!planner.reconcile([active(&old), active(&new)], at(1)));
    assert_eq!(planner.next_due(), None);
    let change = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", change, at(2));
    assert_eq!(names(&planner.take_due(at(2)).tasks), ["new", "old"]);
}

#[test]
fn changes_during_a_creation_are_kept_until_the_task_is_there() {
    let spec = task("t", &["web"], BufferPeriod::DISABLED);
    let mut planner = empty_planner();
    let check = requested(1, RunKind::Check);
    planner.reconcile([desired(&spec, DRAFT, vec![check])], at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    assert_eq!(planner.take_due(at(1)).tasks.len(), 1);
    planner.reconcile([desired(&spec, DRAFT, Vec::new())], at(2));
    let change = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", change, at(3));
    assert_eq!(planner.next_due(), None);
    assert!(planner.take_due(at(4)).tasks.is_empty());
    planner.reconcile([active(&spec)], at(5));
    assert_eq!(names(&planner.take_due(at(5)).tasks), ["t"]);
}

#[test]
fn disabled_or_removed_task_watches_and_runs_nothing() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    for rest in [Vec::new(), vec![desired(&spec, TaskMode::Disabled, vec![])]] {
        let mut planner = Planner::new([&spec]);
        sees(&mut planner, "web", full(1, []), at(0));
        assert!(planner.reconcile(rest, at(1)), "the view goes");
        assert!(planner.views().is_empty());
        assert!(planner.take_due(at(9)).tasks.is_empty());
    }
}

#[test]
fn a_changed_definition_keeps_the_snapshots_that_it_still_needs() {
    let before = task("t", &["web", "api"], BufferPeriod::DISABLED);
    let after = task("t", &["web", "db"], BufferPeriod::DISABLED);
    let mut planner = empty_planner();
    planner.reconcile([active(&before)], at(0));
    sees(
        &mut planner,
        "web",
        full(1, [instance("web", "w", 1)]),
        at(0),
    );
    sees(&mut planner, "api", full(1, []), at(0));
    let check = requested(1, RunKind::Check);
    assert!(planner.reconcile([desired(&after, TaskMode::Active, vec![check])], at(1)));
    assert!(planner.take_due(at(1)).tasks.is_empty(), "db is not known");
    sees(&mut planner, "db", full(1, []), at(2));
    let due = planner.take_due(at(2)).tasks;
    assert_eq!(due.len(), 1, "the check, and no run because of it");
    assert_eq!(due[0].reason, EnqueueReason::Request(check));
    assert_eq!(services(&due[0]).len(), 1);
    assert_eq!(*due[0].definition, after.definition);
}

#[test]
fn an_input_that_was_frozen_with_an_old_definition_is_not_the_last() {
    let before = task("t", &["web"], BufferPeriod::DISABLED);
    let mut after = before.clone();
    after.definition.description = "new".into();
    let mut planner = Planner::new([&before]);
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(planner.take_due(at(0)).tasks.len(), 1);
    planner.reconcile([active(&after)], at(1));
    let due = planner.take_due(at(1)).tasks;
    assert_eq!(*due[0].definition, after.definition);
    planner.reconcile([active(&after)], at(2));
    planner.reconcile([active(&before)], at(3));
    assert_eq!(planner.next_due(), None, "nothing was frozen in between");
}

#[test]
fn an_outline_tells_views_buffer_and_decision() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    planner.reconcile([active(&spec)], at(0));
    let seen = |planner: &Planner| planner.task_snapshots().next().unwrap().views[0].seen;
    assert_eq!(seen(&planner), None);
    sees(&mut planner, "web", full(4, []), at(1));
    assert_eq!(seen(&planner), Some((4, at(1))));
    let change = full(5, [instance("web", "w", 1)]);
    sees(&mut planner, "web", change, at(2));
    planner.decided(spec.name(), at(3), Decision::Unchanged);
    let snapshot = planner.task_snapshots().next().unwrap();
    assert_eq!(snapshot.buffered_until, Some(at(7)));
    assert_eq!(snapshot.decided.unwrap().decision, Decision::Unchanged);
}

#[test]
fn a_creation_that_an_earlier_leader_has_begun_may_have_missed_a_change() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let draft = || [desired(&spec, DRAFT, Vec::new())];
    let mut planner = Planner::new(&[]);
    planner.reconcile(draft(), at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    assert_eq!(planner.next_due(), None, "it is not there yet");
    planner.reconcile([active(&spec)], at(2));
    let due = planner.take_due(at(2)).tasks;
    assert_eq!(due[0].reason, FIRST);

    // If the task comes later, its request is on its way.
    let mut planner = empty_planner();
    planner.reconcile(draft(), at(0));
    sees(&mut planner, "web", full(1, []), at(1));
    planner.reconcile([active(&spec)], at(2));
    assert_eq!(planner.next_due(), None);
}

#[test]
fn other_settings_run_the_tasks_that_use_them_at_once() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&spec]);
    let due = |planner: &mut Planner, seconds| planner.take_due(at(seconds)).tasks.len();
    planner.settings_changed(at(0), |_definition| true);
    assert_eq!(due(&mut planner, 1), 0, "its input is not complete");
    sees(&mut planner, "web", full(1, []), at(2));
    assert_eq!(due(&mut planner, 2), 1);
    planner.settings_changed(at(3), |_definition| false);
    assert_eq!(due(&mut planner, 3), 0);
    planner.settings_changed(at(3), |_definition| true);
    assert_eq!(due(&mut planner, 3), 1, "it is not buffered");
}

#[test]
fn a_buffer_goes_on_unless_its_period_is_another() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = empty_planner();
    planner.reconcile([active(&spec)], at(0));
    sees(&mut planner, "web", full(1, []), at(0));
    let web = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", web, at(1));
    assert_eq!(planner.next_due(), Some(at(6)));
    planner.reconcile([active(&spec)], at(3));
    assert_eq!(planner.next_due(), Some(at(6)), "nothing has changed");
    let unbuffered = task("t", &["web"], BufferPeriod::DISABLED);
    planner.reconcile([active(&unbuffered)], at(4));
    assert!(planner.next_due() <= Some(at(4)));
    assert_eq!(names(&planner.take_due(at(4)).tasks), ["t"]);
}
