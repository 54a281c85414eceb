//! Changes are grouped into causes.

use cts_testkit::ManualClock;

use super::*;
use crate::identities::RandomIdentities;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn one(service: &str) -> [ServiceInstance; 1] {
    [instance(service, "one", 1)]
}

/// The next due task, and the lines of its causes.
fn due(planner: &mut Planner, now: Duration) -> (DueTask, Vec<String>) {
    let task = planner.take_due(now).tasks.remove(0);
    let lines = task.causes.iter().map(|cause| cause.lines().join(", "));
    let lines = lines.collect();
    (task, lines)
}

/// A planner whose task has had its first input, with one instance of each of two services.
fn begun(task: &TaskSpec) -> Planner {
    let mut planner = Planner::new([task]);
    let clock = Arc::new(ManualClock::default());
    planner.groups = Some(ChangeGroups::new(Arc::new(RandomIdentities), clock));
    sees(&mut planner, "web", full(1, one("web")), at(1));
    sees(&mut planner, "api", full(1, one("api")), at(1));
    let (_, lines) = due(&mut planner, at(2));
    assert_eq!(lines, ["since the last applied input"]);
    planner
}

#[test]
fn changes_within_a_second_are_one_cause() {
    let task = task("t", &["web", "api"], BufferPeriod::DISABLED);
    let mut planner = begun(&task);
    let many = (0..3).map(|n| instance("web", &format!("w{n}"), 1));
    sees(&mut planner, "web", full(2, many), at(10));
    let (first, lines) = due(&mut planner, at(10));
    assert_eq!(lines, ["web +3 −1"]);
    sees(&mut planner, "api", full(2, []), millis(10_900));
    let (joined, lines) = due(&mut planner, millis(10_900));
    assert_eq!(lines, ["web +3 −1, api −1"]);
    assert_eq!(joined.causes[0].id, first.causes[0].id);
    sees(&mut planner, "api", full(3, one("api")), at(11));
    let (later, lines) = due(&mut planner, at(11));
    assert_eq!(lines, ["api +1"]);
    assert!(later.causes[0].id > first.causes[0].id);
}

#[test]
fn causes_wait_with_the_buffered_task_and_come_back_from_a_block() {
    let task = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut planner = begun(&task);
    sees(&mut planner, "web", full(2, []), at(10));
    sees(&mut planner, "api", full(2, []), at(12));
    let (blocked, lines) = due(&mut planner, at(60));
    assert_eq!(lines, ["web −1", "api −1"]);
    planner.give_back(&blocked.definition.name, blocked.causes);
    sees(&mut planner, "web", full(3, one("web")), at(70));
    let (_, lines) = due(&mut planner, at(120));
    assert_eq!(lines, ["web −1", "api −1", "web +1"]);
}

#[test]
fn a_requested_apply_has_the_causes_of_its_data() {
    let task = task("t", &["web", "api"], BufferPeriod::BUILT_IN);
    let mut planner = begun(&task);
    sees(&mut planner, "web", full(2, []), at(10));
    for (kind, causes) in [(RunKind::Plan, 0), (RunKind::Apply, 1)] {
        let requested = RequestedRun {
            run: RunId::from_uuid(uuid::Uuid::from_u128(7)),
            kind,
        };
        let desired = DesiredTask {
            name: task.name(),
            spec: Some(&task),
            mode: TaskMode::Active,
            held: false,
            requests: vec![requested],
        };
        planner.reconcile([desired], at(10));
        assert_eq!(due(&mut planner, at(10)).1.len(), causes, "{kind:?}");
    }
    assert_eq!(due(&mut planner, at(60)).1, ["web −1"], "the change itself");
}
