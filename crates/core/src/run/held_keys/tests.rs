use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::run::complete_input::{CompleteInput, IncompleteInput, ViewItems};
use crate::run::input::FrozenInput;
use crate::task::spec::TaskDefinition;
use crate::view::View;
use crate::view::condition::KvQuery;
use crate::view::condition::{Condition, ConsulKvCondition, ModuleInput};
use crate::view::{Item, ViewSnapshot};
use crate::words::digest::Digest;

fn prefix(path: &str) -> KvQuery {
    KvQuery {
        path: path.into(),
        recurse: true,
        ..KvQuery::default()
    }
}

fn view(path: &str) -> ViewId {
    View::ConsulKv(prefix(path)).id()
}

/// A task with the condition on one prefix and the module input on the other.
fn definition() -> Arc<TaskDefinition> {
    let condition = Condition::ConsulKv(ConsulKvCondition {
        query: prefix("a/"),
        use_as_module_input: true,
    });
    let inputs = vec![ModuleInput::ConsulKv(prefix("b/"))];
    Arc::new(TaskDefinition::sample(condition, inputs))
}

fn pair(key: &str, value: &str) -> Item {
    Item::from(KeyValue {
        key: key.into(),
        value: value.into(),
    })
}

fn odd(key: &str) -> Item {
    Item::UnreadableKey(key.into())
}

/// Items of the two prefixes.
type Shown<'a> = [&'a [Item]; 2];

fn complete(shown: Shown<'_>, held: Option<&HeldKeys>) -> Result<FrozenInput, IncompleteInput> {
    let [a, b] =
        shown.map(|items| Arc::new(ViewItems::of(&ViewSnapshot::new(1, items.iter().cloned()))));
    let shown = |id: &ViewId| Some(Arc::clone(if *id == view("a/") { &a } else { &b }));
    let complete = CompleteInput::new(definition(), shown, held)?;
    Ok(complete.freeze(Digest::of(b"s")).unwrap())
}

fn applied(input: &FrozenInput) -> AppliedKeys {
    let contents = input.contents.iter().map(|content| &*content.bytes);
    AppliedKeys::of_contents(contents).unwrap()
}

/// Freezes like the leader: an unreadable key keeps its value of the `last` input.
fn keeping(shown: Shown<'_>, last: &FrozenInput) -> (FrozenInput, HeldKeys) {
    let unreadable = complete(shown, None).map_or_else(|error| error.unreadable, |_| Vec::new());
    let held = HeldKeys::choose(&unreadable, &applied(last));
    (complete(shown, Some(&held)).unwrap(), held)
}

#[test]
fn an_unreadable_key_keeps_its_applied_value_and_the_others_live() {
    let before = [pair("a/1", "one"), pair("a/2", "two"), pair("a/3", "three")];
    let first = complete([&before, &[]], None).unwrap();
    let same = [pair("a/1", "one"), odd("a/2"), pair("a/3", "three")];
    let (again, held) = keeping([&same, &[]], &first);
    assert_eq!(again, first, "an equal input needs no run");
    assert_eq!(held.left_out(), []);
    let changed = [pair("a/1", "new"), odd("a/2"), pair("a/3", "three")];
    let expected = [pair("a/1", "new"), pair("a/2", "two"), pair("a/3", "three")];
    let (changed, _held) = keeping([&changed, &[]], &first);
    assert_eq!(changed, complete([&expected, &[]], None).unwrap());
}

#[test]
fn a_key_that_the_applied_input_does_not_have_is_left_out() {
    let first = complete([&[pair("a/1", "one")], &[]], None).unwrap();
    let shown = [pair("a/1", "one"), odd("a/2")];
    let (input, held) = keeping([&shown, &[]], &first);
    assert_eq!(input, first);
    let left_out = [UnreadableKeys {
        view: view("a/"),
        keys: vec!["a/2".into()],
    }];
    assert_eq!(held.left_out(), left_out);
    assert_eq!(held.newly_left_out(&HeldKeys::default()), left_out);
    assert_eq!(held.newly_left_out(&held), [], "it is known");
}

#[test]
fn a_task_that_was_never_applied_names_its_unreadable_keys() {
    let incomplete = complete([&[odd("a/2"), odd("a/1")], &[odd("b/1")]], None).unwrap_err();
    let named = |path: &str, keys: &[&str]| UnreadableKeys {
        view: view(path),
        keys: keys.iter().map(|&key| key.into()).collect(),
    };
    assert_eq!(incomplete.missing, []);
    let expected = [named("a/", &["a/1", "a/2"]), named("b/", &["b/1"])];
    assert_eq!(incomplete.unreadable, expected);
    let some = HeldKeys::choose(&expected[..1], &AppliedKeys::default());
    let incomplete = complete([&[odd("a/1")], &[odd("b/1")]], Some(&some)).unwrap_err();
    assert_eq!(incomplete.unreadable, expected[1..]);
}

#[test]
fn each_view_keeps_its_own_values() {
    let first = complete([&[pair("a/1", "a")], &[pair("b/1", "b")]], None).unwrap();
    let (again, _held) = keeping([&[odd("a/1")], &[odd("b/1")]], &first);
    assert_eq!(again, first);
}

#[test]
fn values_that_differ_contradict_each_other_and_keys_that_come_and_go_do_not() {
    let unreadable = |keys: &[&str]| UnreadableKeys {
        view: view("a/"),
        keys: keys.iter().map(|&key| key.into()).collect(),
    };
    let of = |keys: &[&str], items: &[Item]| {
        let input = complete([items, &[]], None).unwrap();
        HeldKeys::choose([&unreadable(keys)], &applied(&input))
    };
    let one = of(&["a/1"], &[pair("a/1", "1")]);
    assert!(!one.contradicts(&of(&["a/1", "a/2"], &[pair("a/1", "1")])));
    assert!(!one.contradicts(&HeldKeys::default()));
    assert!(one.contradicts(&of(&["a/1"], &[pair("a/1", "2")])));
    assert!(one.contradicts(&of(&["a/1"], &[])));
    assert!(of(&["a/1"], &[]).contradicts(&one));
}

#[test]
fn a_text_names_the_first_keys_on_one_line() {
    let keys: Vec<String> = (0..1000).map(|number| format!("k{number}")).collect();
    let text = keys_text(keys.iter().map(String::as_str));
    assert_eq!(text, r#""k0", "k1", "k2", "k3", "k4" and 995 more"#);
    assert_eq!(
        keys_text(["a\n[ERROR] x\u{202e}"]),
        r#""a\n[ERROR] x\u{202e}""#
    );
    let long = "x".repeat(100_000);
    assert!(keys_text([long.as_str()]).len() < 200);
}

fn any_pairs() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[ab]/[a-e]", "[xy]", 0..10)
}

proptest! {
    /// Readable keys have their new value, unreadable keys the applied value, and a restart decides the same.
    #[test]
    fn an_input_is_what_can_be_read_and_else_what_was_applied(
        before in any_pairs(), now in any_pairs(), odd_keys in prop::collection::btree_set("[ab]/[a-e]", 0..6),
    ) {
        let of = |pairs: &BTreeMap<String, String>, odd_keys: &BTreeSet<String>| {
            ["a/", "b/"].map(|prefix| {
                let pairs = pairs.iter().filter(|(key, _value)| !odd_keys.contains(*key));
                let pairs = pairs.map(|(key, value)| pair(key, value));
                let odd_keys = odd_keys.iter().map(|key| odd(key));
                let items = pairs.chain(odd_keys);
                let of_prefix = |item: &Item| matches!(item.key(), crate::ItemKey::Name(key) if key.starts_with(prefix));
                items.filter(of_prefix).collect::<Vec<_>>()
            })
        };
        let none = BTreeSet::new();
        let [a, b] = of(&before, &none);
        let first = complete([&a, &b], None).unwrap();
        let mut expected = now.clone();
        for key in &odd_keys {
            expected.remove(key);
            expected.extend(before.get_key_value(key).map(|(key, value)| (key.clone(), value.clone())));
        }
        let [a, b] = of(&expected, &none);
        let expected = complete([&a, &b], None).unwrap();
        let [a, b] = of(&now, &odd_keys);
        let (input, _held) = keeping([&a, &b], &first);
        prop_assert_eq!(&input, &expected);
        // Once the new input is applied, its values are kept.
        let (again, _held) = keeping([&a, &b], &input);
        prop_assert_eq!(again, input);
    }
}
