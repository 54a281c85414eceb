//! Changes that explanations show are counted, so that an explanation is rebuilt if, and only if, it differs.

use chrono::{DateTime, Utc};

use super::later::{active, desired, empty_planner, requested};
use super::*;
use crate::planner::ViewProblem;

fn moment(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_770_000_000 + seconds, 0).unwrap()
}

fn problem(text: &str, since: i64, next_try: i64, last_answer: i64) -> ViewProblem {
    ViewProblem {
        text: text.to_owned(),
        refused: false,
        outage: false,
        since: moment(since),
        next_try: Some(moment(next_try)),
        last_answer: Some(moment(last_answer)),
    }
}

/// A planner and its count.
struct Counted(Planner, u64);

impl Counted {
    /// Growth of the count since the last call.
    fn more(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.1, self.0.changes());
        self.1 - before
    }
}

#[test]
fn shown_changes_count_once() {
    let web = task("t", &["web"], BufferPeriod::DISABLED);
    let api = task("t", &["api"], BufferPeriod::DISABLED);
    let mut planner = Counted(Planner::new([]), 0);
    assert!(planner.0.views().is_empty() && !planner.0.is_reconciled());

    planner.0.reconcile([active(&web)], at(0));
    assert_eq!(planner.more(), 1, "a task");
    assert!(planner.0.is_reconciled() && planner.0.has(web.name()));
    planner.0.reconcile([active(&web)], at(0));
    assert_eq!(planner.more(), 0, "the same task");
    planner.0.observe(&id("web"), full(1, []), at(0)).unwrap();
    assert_eq!(planner.more(), 1, "a snapshot");
    assert_eq!(planner.0.take_due(at(0)).tasks.len(), 1);
    assert_eq!(planner.more(), 1, "a task that is due");
    let decision = Decision::Unchanged;
    planner.0.decided(web.name(), at(0), decision);
    assert_eq!(
        planner.0.last_decision(web.name()),
        Some(&Decision::Unchanged)
    );
    assert_eq!(planner.more(), 1, "a decision");
    planner.0.observe(&id("web"), full(2, []), at(1)).unwrap();
    assert_eq!(planner.more(), 0, "equal content");

    planner.0.note_problem(&id("web"), problem("no", 1, 2, 0));
    assert_eq!(planner.more(), 1, "a problem");
    planner.0.observe(&id("web"), full(3, []), at(2)).unwrap();
    assert_eq!(planner.more(), 1, "its end");

    planner.0.reconcile([active(&api)], at(3));
    assert_eq!(planner.more(), 1, "another view");
    planner.0.reconcile([], at(3));
    assert_eq!(planner.more(), 1, "no task");
    assert!(!planner.0.has(web.name()));
}

#[test]
fn a_problem_keeps_its_beginning_and_shows_a_later_try_once_a_minute() {
    let task = task("t", &["web"], BufferPeriod::DISABLED);
    let mut planner = Counted(Planner::new([&task]), 0);
    let shown = |planner: &Counted| {
        let task = planner.0.task_snapshots().next().unwrap();
        task.views[0].problem.cloned()
    };
    planner.more();
    let waiting = |planner: &mut Counted, problem| planner.0.note_problem(&id("web"), problem);
    assert_eq!(waiting(&mut planner, problem("no", 10, 20, 5)), Some(1));
    assert_eq!(planner.more(), 1);
    let soon = problem("no", 11, 79, 4);
    assert_eq!(waiting(&mut planner, soon), None, "it was said before");
    assert_eq!(planner.more(), 0);
    assert_eq!(shown(&planner), Some(problem("no", 10, 20, 5)));
    waiting(&mut planner, problem("no", 12, 80, 6));
    assert_eq!(planner.more(), 1, "a minute later");
    assert_eq!(shown(&planner), Some(problem("no", 10, 80, 6)));
    waiting(&mut planner, problem("never", 13, 81, 6));
    assert_eq!(planner.more(), 1, "another reason");
    assert_eq!(shown(&planner), Some(problem("never", 10, 81, 6)));
}

#[test]
fn a_task_that_is_being_created_is_not_shown_as_triggered() {
    let web = task("t", &["web"], BufferPeriod::DISABLED);
    let triggers = |planner: &Planner| {
        let task = planner.task_snapshots().next().unwrap();
        task.views[0].triggers
    };
    let mut planner = empty_planner();
    let draft = TaskMode::Draft { enabled: true };
    planner.reconcile([desired(&web, draft, vec![])], at(0));
    assert!(!triggers(&planner));
    planner.reconcile([active(&web)], at(0));
    assert!(triggers(&planner));
}

/// Only a refusal by Consul ends the wait of a request before its time.
#[test]
fn a_view_that_cannot_be_read_for_now_leaves_requests_waiting() {
    let web = task("t", &["web"], BufferPeriod::DISABLED);
    let mut planner = empty_planner();
    let check = requested(1, RunKind::Check);
    let draft = TaskMode::Draft { enabled: true };
    planner.reconcile([desired(&web, draft, vec![check])], at(0));
    let waits_until = planner.next_due();
    assert!(waits_until > Some(at(1)), "{waits_until:?}");
    planner.note_problem(&id("web"), problem("away", 1, 2, 0));
    assert_eq!(planner.next_due(), waits_until);
    let refused = ViewProblem {
        refused: true,
        ..problem("no such datacenter", 1, 2, 0)
    };
    planner.note_problem(&id("web"), refused);
    assert!(planner.next_due() < waits_until);
    assert_eq!(planner.take_due(at(1)).overdue.len(), 1);
}
