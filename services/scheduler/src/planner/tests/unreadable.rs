//! Keys that cannot be read.

use cts_core::{AppliedKeys, ConsulKvCondition, KeyValue, KvQuery, ModuleInput, TaskSpec};

use super::later::{active, desired, empty_planner, requested};
use super::*;

const KV: &str = "kv.list(a/)";

fn prefix() -> KvQuery {
    KvQuery {
        path: "a/".to_owned(),
        recurse: true,
        ..KvQuery::default()
    }
}

/// A task on the prefix.
fn on_keys(buffer_period: BufferPeriod) -> TaskSpec {
    let mut spec = task("t", &[], buffer_period);
    spec.definition.condition = Condition::ConsulKv(ConsulKvCondition {
        query: prefix(),
        use_as_module_input: true,
    });
    spec
}

/// Keys, each with its value if it has one.
type Keys<'a> = [(&'a str, Option<&'a str>)];

fn shows(revision: u64, keys: &Keys<'_>) -> ViewDelta {
    let items = keys.iter().map(|&(key, value)| match value {
        Some(value) => Item::from(KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        }),
        None => Item::UnreadableKey(key.into()),
    });
    ViewSnapshot::new(revision, items).delta_from(None)
}

fn observe(planner: &mut Planner, revision: u64, keys: &Keys<'_>, now: Duration) {
    let delta = shows(revision, keys);
    planner.observe(&ViewId::new(KV), delta, now).unwrap();
}

fn frozen(due: &DueTask) -> cts_core::FrozenInput {
    let DueData::Complete(input) = &due.data else {
        panic!("{due:?} has no data");
    };
    input.freeze(Digest::of(b"settings")).unwrap()
}

/// The keys and values of the prefix in the input of the only due task.
fn applies(planner: &mut Planner, now: Duration) -> Vec<(String, String)> {
    let due = planner.take_due(now).tasks;
    let [task] = &due[..] else {
        panic!("{due:?}");
    };
    let input = frozen(task);
    let contents = input.contents.iter().map(|content| &*content.bytes);
    let keys = RunInput::thaw(contents).unwrap().consul_kv.into_iter();
    keys.map(|pair| (pair.key.clone(), pair.value.clone()))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// An input with these keys, as read from the store.
fn applied(keys: &Keys<'_>) -> AppliedInput {
    let mut planner = Planner::new([&on_keys(BufferPeriod::DISABLED)]);
    observe(&mut planner, 1, keys, at(0));
    let input = frozen(&planner.take_due(at(0)).tasks[0]);
    let contents = input.contents.iter().map(|content| &*content.bytes);
    AppliedInput::Of(input.hash, AppliedKeys::of_contents(contents).unwrap())
}

fn hash(applied: &AppliedInput) -> Option<Digest> {
    match applied {
        AppliedInput::Of(input, _keys) => Some(*input),
        AppliedInput::Never => None,
    }
}

fn name() -> TaskName {
    "t".parse().unwrap()
}

fn wanted(known: Option<Digest>) -> [WantedInput; 1] {
    let task = name();
    [WantedInput { task, known }]
}

#[test]
fn after_a_restart_a_task_waits_until_it_is_known_what_it_applied() {
    let mut planner = Planner::new([&on_keys(BufferPeriod::BUILT_IN)]);
    observe(&mut planner, 1, &[("a/1", Some("1")), ("a/2", None)], at(0));
    assert!(planner.take_due(at(100)).tasks.is_empty());
    assert!(planner.lacks_applied_input());
    assert_eq!(planner.wanted_inputs(at(100)), wanted(None));
    let last = applied(&[("a/1", Some("0")), ("a/2", Some("2"))]);
    let news = planner.note_applied(&name(), last, at(100));
    assert_eq!(news, NewlyHeld::Nothing);
    assert!(!planner.lacks_applied_input());
    let expected = pairs(&[("a/1", "1"), ("a/2", "2")]);
    assert_eq!(applies(&mut planner, at(100)), expected);
}

#[test]
fn the_other_keys_run_the_task_and_an_equal_view_does_not() {
    let mut planner = Planner::new([&on_keys(BufferPeriod::DISABLED)]);
    observe(
        &mut planner,
        1,
        &[("a/1", Some("1")), ("a/2", Some("2"))],
        at(0),
    );
    planner.take_due(at(0));
    assert_eq!(planner.wanted_inputs(at(0)), [], "nothing is unreadable");
    let last = || applied(&[("a/1", Some("1")), ("a/2", Some("2"))]);
    observe(&mut planner, 2, &[("a/1", Some("1")), ("a/2", None)], at(1));
    assert_eq!(planner.wanted_inputs(at(1)), wanted(None));
    planner.note_applied(&name(), last(), at(1));
    let same = pairs(&[("a/1", "1"), ("a/2", "2")]);
    assert_eq!(applies(&mut planner, at(1)), same, "the store skips it");
    observe(&mut planner, 3, &[("a/1", Some("3")), ("a/2", None)], at(2));
    assert_eq!(planner.wanted_inputs(at(2)), wanted(hash(&last())));
    let changed = pairs(&[("a/1", "3"), ("a/2", "2")]);
    assert_eq!(applies(&mut planner, at(2)), changed);
    assert_eq!(planner.wanted_inputs(at(3)), [], "it is not due");
    observe(&mut planner, 9, &[("a/1", Some("3")), ("a/2", None)], at(4));
    assert_eq!(planner.next_due(), None, "another watcher says the same");
    observe(&mut planner, 10, &[("a/1", Some("3"))], at(5));
    let deleted = pairs(&[("a/1", "3")]);
    assert_eq!(applies(&mut planner, at(5)), deleted);
}

#[test]
fn values_of_a_later_apply_are_kept_from_then_on() {
    let mut planner = Planner::new([&on_keys(BufferPeriod::BUILT_IN)]);
    observe(&mut planner, 1, &[("a/1", None)], at(0));
    planner.note_applied(&name(), applied(&[("a/1", Some("1"))]), at(0));
    applies(&mut planner, at(0));
    assert_eq!(planner.all_wanted_inputs().len(), 1);
    // The run of an earlier input has ended, which had another value.
    planner.note_applied(&name(), applied(&[("a/1", Some("2"))]), at(1));
    assert_eq!(applies(&mut planner, at(1)), pairs(&[("a/1", "2")]));
    // So has one whose other keys were different.
    let other = applied(&[("a/1", Some("2")), ("a/2", Some("3"))]);
    planner.note_applied(&name(), other, at(2));
    assert_eq!(planner.next_due(), None);
}

#[test]
fn keys_that_were_never_applied_are_left_out_and_told_once() {
    let mut planner = Planner::new([&on_keys(BufferPeriod::DISABLED)]);
    let keys = [("a/1", Some("1")), ("a/2", None), ("a/3", None)];
    observe(&mut planner, 1, &keys, at(0));
    let last = || applied(&[("a/1", Some("1")), ("a/3", Some("3"))]);
    let news = planner.note_applied(&name(), last(), at(0));
    let NewlyHeld::LeftOut(left_out) = news else {
        panic!("{news:?}");
    };
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0].view.as_str(), KV);
    assert_eq!(left_out[0].keys, ["a/2".into()]);
    let news = planner.note_applied(&name(), last(), at(1));
    assert_eq!(news, NewlyHeld::Nothing);
    let expected = pairs(&[("a/1", "1"), ("a/3", "3")]);
    assert_eq!(applies(&mut planner, at(1)), expected);
    let snapshot = planner.task_snapshots().next().unwrap();
    let status = snapshot.views[0].unreadable.as_ref().unwrap();
    assert_eq!(status.left_out.as_deref(), Some("\"a/2\""));
    assert!(!status.waits);
}

#[test]
fn a_task_that_was_never_applied_waits_for_its_values_and_begins_with_them() {
    let mut planner = Planner::new([&on_keys(BufferPeriod::BUILT_IN)]);
    observe(&mut planner, 1, &[("a/1", None)], at(0));
    let news = planner.note_applied(&name(), AppliedInput::Never, at(0));
    assert!(matches!(news, NewlyHeld::Waits(keys) if keys.len() == 1));
    let again = planner.note_applied(&name(), AppliedInput::Never, at(1));
    assert_eq!(again, NewlyHeld::Nothing, "it is told once");
    assert!(!planner.lacks_applied_input(), "the leader may sleep");
    assert!(planner.take_due(at(100)).tasks.is_empty());
    let snapshot = planner.task_snapshots().next().unwrap();
    assert!(snapshot.views[0].unreadable.as_ref().unwrap().waits);
    observe(&mut planner, 2, &[("a/1", Some("1"))], at(200));
    assert_eq!(applies(&mut planner, at(200)), pairs(&[("a/1", "1")]));
    // The applied input is read again later: the knowledge does not last for ever.
    observe(&mut planner, 3, &[("a/1", None)], at(201));
    assert_eq!(planner.wanted_inputs(at(201)), wanted(None));
}

#[test]
fn a_request_of_a_task_that_was_never_applied_is_refused_with_the_key() {
    let spec = on_keys(BufferPeriod::DISABLED);
    for is_read_first in [true, false] {
        let mut planner = empty_planner();
        let run = requested(1, RunKind::Apply);
        let asked = || [desired(&spec, TaskMode::Disabled, vec![run])];
        planner.reconcile(asked(), at(0));
        if is_read_first {
            observe(&mut planner, 1, &[("a/\n1", None)], at(1));
            planner.reconcile(asked(), at(1));
        } else {
            planner.reconcile(asked(), at(1));
            observe(&mut planner, 1, &[("a/\n1", None)], at(1));
        }
        planner.note_applied(&name(), AppliedInput::Never, at(1));
        let due = planner.take_due(at(1));
        assert!(due.tasks.is_empty());
        let (view, text) = due.overdue[0].refusal.as_ref().unwrap();
        assert_eq!(view.as_str(), KV);
        assert!(text.contains(r#""a/\n1""#), "{text}");
    }
}

#[test]
fn a_module_input_keeps_its_values_too() {
    let mut spec = task("t", &["web"], BufferPeriod::DISABLED);
    spec.definition.module_inputs = vec![ModuleInput::ConsulKv(prefix())];
    let mut planner = Planner::new([&spec]);
    sees(&mut planner, "web", full(1, []), at(0));
    observe(&mut planner, 1, &[("a/1", Some("1"))], at(0));
    planner.take_due(at(0));
    observe(&mut planner, 2, &[("a/1", None)], at(1));
    assert_eq!(planner.next_due(), None, "it triggers nothing");
    planner.note_applied(&name(), applied(&[("a/1", Some("1"))]), at(1));
    let web = full(2, [instance("web", "w", 1)]);
    sees(&mut planner, "web", web, at(2));
    assert_eq!(applies(&mut planner, at(2)), pairs(&[("a/1", "1")]));
    planner.reconcile([active(&spec)], at(3));
    observe(&mut planner, 3, &[("a/1", Some("4"))], at(3));
    assert_eq!(planner.next_due(), None);
    let web = full(3, []);
    sees(&mut planner, "web", web, at(4));
    assert_eq!(applies(&mut planner, at(4)), pairs(&[("a/1", "4")]));
}
