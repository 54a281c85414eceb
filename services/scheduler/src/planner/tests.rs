mod causes;
mod counted;
mod held;
mod later;
mod partial;
mod read_sequences;
mod reads;
mod sequences;
mod triggers;
mod unreadable;

use cts_core::runs::RunKind;
use cts_core::{
    BufferPeriod, Condition, Digest, IncompleteInput, Item, RunId, RunInput, ServiceInstance,
    SpanId, TraceContext, TraceId,
};
use cts_testkit::fixtures::{self, instance};

use super::*;

fn task(name: &str, services: &[&str], buffer_period: BufferPeriod) -> TaskSpec {
    TaskSpec {
        buffer_period,
        ..fixtures::task(name, services)
    }
}

fn id(service: &str) -> ViewId {
    ViewId::new(format!("health.service({service})"))
}

fn full(revision: u64, instances: impl IntoIterator<Item = ServiceInstance>) -> ViewDelta {
    ViewSnapshot::new(revision, instances).delta_from(None)
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An ordinary change.
const CHANGE: EnqueueReason = EnqueueReason::Change {
    first: false,
    tick: false,
};

/// The first pass over a task.
const FIRST: EnqueueReason = EnqueueReason::Change {
    first: true,
    tick: false,
};

/// The planner observes the instances of a service.
fn sees(planner: &mut Planner, service: &str, delta: ViewDelta, now: Duration) {
    planner.observe(&id(service), delta, now).unwrap();
}

fn names(due: &[DueTask]) -> Vec<&str> {
    due.iter()
        .map(|task| task.definition.name.as_str())
        .collect()
}

/// The instances of the input of a due task, which must be complete.
fn services(due: &DueTask) -> Vec<Arc<ServiceInstance>> {
    let DueData::Complete(input) = &due.data else {
        panic!("{due:?} has no data");
    };
    let frozen = input.freeze(Digest::of(b"settings")).unwrap();
    let contents = frozen.contents.iter().map(|content| &*content.bytes);
    RunInput::thaw(contents).unwrap().services
}

#[test]
fn a_task_waits_until_each_of_its_views_has_a_snapshot() {
    let task = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&task]);
    assert_eq!(planner.views().len(), 2);
    sees(
        &mut planner,
        "web",
        full(1, [instance("web", "w", 1)]),
        at(1),
    );
    assert_eq!(planner.next_due(), None);
    sees(
        &mut planner,
        "api",
        full(1, [instance("api", "a", 2)]),
        at(2),
    );
    let due = planner.take_due(at(2)).tasks;
    let services = services(&due[0]);
    let ids: Vec<_> = services
        .iter()
        .map(|instance| instance.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "w"], "names are sorted");
}

#[test]
fn later_changes_are_buffered_and_equal_snapshots_are_none() {
    let task = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&task]);
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(names(&planner.take_due(at(0)).tasks), ["t"]);
    sees(&mut planner, "web", full(9, []), at(1));
    assert_eq!(
        planner.next_due(),
        None,
        "a watcher that starts afresh is no change"
    );
    sees(
        &mut planner,
        "web",
        full(10, [instance("web", "w", 1)]),
        at(2),
    );
    assert_eq!(planner.next_due(), Some(at(7)));
    assert!(planner.take_due(at(6)).tasks.is_empty());
    assert_eq!(services(&planner.take_due(at(7)).tasks[0]).len(), 1);
}

#[test]
fn a_due_task_comes_with_the_spans_of_its_changes_and_the_time_of_the_first() {
    let task = task("t", &["web"], BufferPeriod::BUILT_IN);
    let mut planner = Planner::new([&task]);
    sees(&mut planner, "web", full(1, []), at(0));
    let first = planner.take_due(at(0)).tasks.remove(0);
    assert_eq!(first.cause, Some(Cause::since(at(0))));
    let spans = [1, 2].map(|number| TraceContext {
        trace: TraceId::new(7).unwrap(),
        span: SpanId::new(number).unwrap(),
    });
    for (seconds, span) in (2..).zip(spans) {
        let delta = ViewDelta {
            trace: Some(span),
            ..full(
                seconds,
                [instance("web", "w", i64::try_from(seconds).unwrap())],
            )
        };
        sees(&mut planner, "web", delta, at(seconds));
    }
    let due = planner.take_due(at(30)).tasks.remove(0);
    let cause = due.cause.unwrap();
    assert_eq!((cause.since, cause.changes), (at(2), spans.to_vec()));
}

#[test]
fn one_view_serves_all_its_tasks() {
    let tasks = ["a", "b"].map(|name| task(name, &["web"], BufferPeriod::DISABLED));
    let mut planner = Planner::new(&tasks);
    assert_eq!(planner.views().len(), 1);
    sees(&mut planner, "web", full(1, []), at(0));
    assert_eq!(names(&planner.take_due(at(0)).tasks), ["a", "b"]);
}

#[test]
fn a_postponed_task_is_due_again_and_not_before() {
    let mut planner = Planner::new([&task("t", &["web"], BufferPeriod::DISABLED)]);
    sees(&mut planner, "web", full(1, []), at(0));
    let due = planner.take_due(at(0)).tasks;
    planner.postpone(&due[0].definition.name, at(0), at(5));
    assert_eq!(planner.next_due(), Some(at(5)));
    assert!(planner.take_due(at(4)).tasks.is_empty());
    assert_eq!(names(&planner.take_due(at(5)).tasks), ["t"]);
}

#[test]
fn disabled_tasks_watch_nothing() {
    let disabled = TaskSpec {
        enabled: false,
        ..task("t", &["web"], BufferPeriod::DISABLED)
    };
    assert!(Planner::new([&disabled]).views().is_empty());
}

#[test]
fn a_task_without_a_condition_is_due_at_the_beginning_and_never_again() {
    let mut unconditional = task("a", &[], BufferPeriod::BUILT_IN);
    unconditional.definition.condition = Condition::NoCondition;
    let mut planner = Planner::new(&[unconditional]);
    assert!(planner.views().is_empty());
    assert_eq!(names(&planner.take_due(at(0)).tasks), ["a"]);
    assert_eq!(planner.next_due(), None);
}
