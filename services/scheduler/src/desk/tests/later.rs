//! Requests, and tasks that come, change and go while the desk is in use.

use super::*;

pub(super) fn run(number: u32) -> RunId {
    format!("00000000-0000-7000-8000-{number:012}")
        .parse()
        .unwrap()
}

pub(super) fn wanted(number: u32, kind: RunKind) -> Wanted {
    Wanted {
        run: run(number),
        kind,
    }
}

pub(super) fn present(spec: &TaskSpec, standing: Standing, requests: Vec<Wanted>) -> Present<'_> {
    Present {
        name: spec.name(),
        spec: Some(spec),
        standing,
        requests,
    }
}

pub(super) fn active(spec: &TaskSpec) -> Present<'_> {
    present(spec, Standing::Active, Vec::new())
}

const DRAFT: Standing = Standing::Draft { enabled: true };

/// Of a leader that has begun a while ago.
pub(super) fn empty_desk() -> Desk {
    let mut desk = Desk::new(&[]);
    desk.arrange([], at(0));
    desk
}

#[test]
fn a_request_is_carried_out_as_soon_as_the_input_is_complete_and_once() {
    let spec = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk();
    let check = wanted(1, RunKind::Check);
    let asked = || [present(&spec, DRAFT, vec![check])];
    assert!(desk.arrange(asked(), at(0)), "there are views now");
    desk.observe(&id("web"), full(1, []), at(1)).unwrap();
    assert!(!desk.arrange(asked(), at(1)), "the same views");
    assert!(desk.take_due(at(1)).tasks.is_empty());
    desk.observe(&id("api"), full(1, []), at(2)).unwrap();
    assert_eq!(desk.next_due(), Some(at(0)));
    let due = desk.take_due(at(2)).tasks;
    assert_eq!(names(&due), ["t"]);
    assert_eq!(due[0].why, Why::Request(check));
    assert_eq!(desk.next_due(), None);
    assert!(desk.take_due(at(3)).tasks.is_empty());
}

#[test]
fn a_request_whose_input_stays_incomplete_is_overdue_after_its_patience() {
    let spec = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk().with_patience(at(60));
    let plan = wanted(1, RunKind::Plan);
    desk.arrange([present(&spec, Standing::Disabled, vec![plan])], at(5));
    desk.observe(&id("web"), full(1, []), at(6)).unwrap();
    // Looking again does not give more time.
    desk.arrange([present(&spec, Standing::Disabled, vec![plan])], at(30));
    assert_eq!(desk.next_due(), Some(at(65)));
    assert!(desk.take_due(at(64)).overdue.is_empty());
    let overdue = desk.take_due(at(65)).overdue;
    let expected = Overdue {
        task: spec.name().clone(),
        run: run(1),
        missing: vec![id("api")],
    };
    assert_eq!(overdue, [expected]);
    assert!(desk.take_due(at(66)).overdue.is_empty());
}

#[test]
fn a_disabled_task_is_checked_without_data_but_not_planned() {
    let spec = TaskSpec {
        enabled: false,
        ..task("t", &["web"], BufferPeriod::BUILT_IN)
    };
    let draft = Standing::Draft { enabled: false };
    let mut desk = empty_desk();
    let requests = vec![wanted(1, RunKind::Check), wanted(2, RunKind::Plan)];
    desk.arrange([present(&spec, draft, requests)], at(0));
    let due = desk.take_due(at(0)).tasks;
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].why, Why::Request(wanted(1, RunKind::Check)));
    assert!(matches!(due[0].data, DueData::NotNeeded));
}

#[test]
fn the_first_input_of_a_task_that_comes_later_triggers_nothing_and_the_next_does() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk();
    desk.arrange([active(&spec)], at(0));
    desk.observe(&id("web"), full(1, []), at(1)).unwrap();
    assert_eq!(desk.next_due(), None);
    let change = full(2, [instance("web", "w", 1)]);
    desk.observe(&id("web"), change, at(10)).unwrap();
    assert_eq!(desk.next_due(), Some(at(15)), "buffered");
    let due = desk.take_due(at(15)).tasks;
    assert_eq!(due[0].why, Why::Change { first: false });
}

#[test]
fn a_task_whose_views_are_known_already_waits_for_the_next_change() {
    let old = task("old", &["web"], BufferPeriod::DISABLED);
    let new = task("new", &["web"], BufferPeriod::DISABLED);
    let mut desk = Desk::new([&old]);
    desk.arrange([active(&old)], at(0));
    desk.observe(&id("web"), full(1, []), at(0)).unwrap();
    assert_eq!(names(&desk.take_due(at(0)).tasks), ["old"]);
    assert!(!desk.arrange([active(&old), active(&new)], at(1)));
    assert_eq!(desk.next_due(), None);
    let change = full(2, [instance("web", "w", 1)]);
    desk.observe(&id("web"), change, at(2)).unwrap();
    assert_eq!(names(&desk.take_due(at(2)).tasks), ["new", "old"]);
}

#[test]
fn changes_during_a_creation_are_kept_until_the_task_is_there() {
    let spec = task("t", &["web"], BufferPeriod::DISABLED);
    let mut desk = empty_desk();
    let check = wanted(1, RunKind::Check);
    desk.arrange([present(&spec, DRAFT, vec![check])], at(0));
    desk.observe(&id("web"), full(1, []), at(1)).unwrap();
    assert_eq!(desk.take_due(at(1)).tasks.len(), 1);
    desk.arrange([present(&spec, DRAFT, Vec::new())], at(2));
    let change = full(2, [instance("web", "w", 1)]);
    desk.observe(&id("web"), change, at(3)).unwrap();
    assert_eq!(desk.next_due(), None);
    assert!(desk.take_due(at(4)).tasks.is_empty());
    desk.arrange([active(&spec)], at(5));
    assert_eq!(names(&desk.take_due(at(5)).tasks), ["t"]);
}

#[test]
fn what_is_disabled_or_gone_watches_and_runs_nothing() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    for rest in [Vec::new(), vec![present(&spec, Standing::Disabled, vec![])]] {
        let mut desk = Desk::new([&spec]);
        desk.observe(&id("web"), full(1, []), at(0)).unwrap();
        assert!(desk.arrange(rest, at(1)), "the view goes");
        assert!(desk.views().is_empty());
        assert!(desk.take_due(at(9)).tasks.is_empty());
    }
}

#[test]
fn a_changed_definition_keeps_the_snapshots_that_it_still_needs() {
    let before = task("t", &["web", "api"], BufferPeriod::DISABLED);
    let after = task("t", &["web", "db"], BufferPeriod::DISABLED);
    let mut desk = empty_desk();
    desk.arrange([active(&before)], at(0));
    desk.observe(&id("web"), full(1, [instance("web", "w", 1)]), at(0))
        .unwrap();
    desk.observe(&id("api"), full(1, []), at(0)).unwrap();
    let check = wanted(1, RunKind::Check);
    assert!(desk.arrange([present(&after, Standing::Active, vec![check])], at(1)));
    assert!(desk.take_due(at(1)).tasks.is_empty(), "db is not known");
    desk.observe(&id("db"), full(1, []), at(2)).unwrap();
    let due = desk.take_due(at(2)).tasks;
    assert_eq!(due.len(), 1, "the check, and no run because of it");
    assert_eq!(due[0].why, Why::Request(check));
    assert_eq!(services(&due[0]).len(), 1);
    assert_eq!(*due[0].definition, after.definition);
}

#[test]
fn an_input_that_was_frozen_with_an_old_definition_is_not_the_last() {
    let before = task("t", &["web"], BufferPeriod::DISABLED);
    let mut after = before.clone();
    after.definition.description = "new".into();
    let mut desk = Desk::new([&before]);
    desk.observe(&id("web"), full(1, []), at(0)).unwrap();
    assert_eq!(desk.take_due(at(0)).tasks.len(), 1);
    desk.arrange([active(&after)], at(1));
    let due = desk.take_due(at(1)).tasks;
    assert_eq!(*due[0].definition, after.definition);
    desk.arrange([active(&after)], at(2));
    desk.arrange([active(&before)], at(3));
    assert_eq!(desk.next_due(), None, "nothing was frozen in between");
}

#[test]
fn an_outline_tells_views_buffer_and_decision() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut desk = empty_desk();
    desk.arrange([active(&spec)], at(0));
    let seen = |desk: &Desk| desk.outlines().next().unwrap().views[0].seen;
    assert_eq!(seen(&desk), None);
    desk.observe(&id("web"), full(4, []), at(1)).unwrap();
    assert_eq!(seen(&desk), Some((4, at(1))));
    let change = full(5, [instance("web", "w", 1)]);
    desk.observe(&id("web"), change, at(2)).unwrap();
    desk.decided(spec.name(), at(3), Decision::Unchanged);
    let outline = desk.outlines().next().unwrap();
    assert_eq!(outline.buffered_until, Some(at(7)));
    assert_eq!(outline.decided.unwrap().decision, Decision::Unchanged);
}

#[test]
fn a_creation_that_an_earlier_leader_has_begun_may_have_missed_a_change() {
    let spec = task("t", &["web"], BufferPeriod::BUILT_IN);
    let draft = || [present(&spec, DRAFT, Vec::new())];
    let mut desk = Desk::new(&[]);
    desk.arrange(draft(), at(0));
    desk.observe(&id("web"), full(1, []), at(1)).unwrap();
    assert_eq!(desk.next_due(), None, "it is not there yet");
    desk.arrange([active(&spec)], at(2));
    let due = desk.take_due(at(2)).tasks;
    assert_eq!(due[0].why, Why::Change { first: true });

    // Of one that comes later the request is on its way.
    let mut desk = empty_desk();
    desk.arrange(draft(), at(0));
    desk.observe(&id("web"), full(1, []), at(1)).unwrap();
    desk.arrange([active(&spec)], at(2));
    assert_eq!(desk.next_due(), None);
}
