//! Fingerprints of changes and of whole plans.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z<\"é]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab.]{1,2}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn changes() -> impl Strategy<Value = Vec<Value>> {
    let change = (values(), values(), any::<bool>());
    prop::collection::vec(change, 1..5).prop_map(|all| {
        let all = all.into_iter().enumerate();
        let change = |(number, (before, after, unknown))| {
            json!({
                "address": format!("a.b[{number}]"), "previous_address": format!("a.c[{number}]"),
                "deposed": "d", "provider_name": "p", "action_reason": "r",
                "change": {
                    "actions": ["delete", "create"], "before": { "v": before }, "after": { "v": after },
                    "after_unknown": { "id": unknown, "x": [false] }, "before_sensitive": {}, "after_sensitive": {},
                    "replace_paths": [["v"], ["w", 0]], "importing": { "id": "i" }
                }
            })
        };
        all.map(change).collect()
    })
}

/// Replaces a value by one that differs.
fn alter(value: &mut Value) {
    *value = json!([value.take(), "other"]);
}

/// The parts of a change that its effect has.
const PARTS: [&str; 10] = [
    "/address",
    "/previous_address",
    "/deposed",
    "/provider_name",
    "/change/actions",
    "/change/before/v",
    "/change/after/v",
    "/change/after_unknown/id",
    "/change/replace_paths/1/1",
    "/change/importing/id",
];

proptest! {
    #[test]
    fn order_means_nothing(changes in changes(), turns in any::<Index>()) {
        let plan = of_changes(&changes);
        let mut other = changes.clone();
        other.rotate_left(turns.index(changes.len()));
        prop_assert_eq!(&of_changes(&other).effect, &plan.effect);
        prop_assert_eq!(&of_changes(&changes).effect, &plan.effect);
    }

    #[test]
    fn every_part_of_every_change_counts(changes in changes(), at in any::<Index>(), part in any::<Index>()) {
        let plan = of_changes(&changes);
        let mut other = changes.clone();
        let at = at.index(changes.len());
        let part = PARTS[part.index(PARTS.len())];
        let altered = other[at].pointer_mut(part).unwrap();
        match altered {
            Value::String(text) if !part.starts_with("/change/before") && !part.starts_with("/change/after") => text.push('x'),
            Value::Bool(mark) if part.ends_with("/id") => *mark = !*mark,
            _ if part == "/change/actions" => *altered = json!(["create", "delete"]),
            _ if part == "/change/replace_paths/1/1" => *altered = json!(1),
            other => alter(other),
        }
        let other = of_changes(&other);
        prop_assert_ne!(&other.effect, &plan.effect, "{}", part);
        for (number, (one, other)) in plan.changes.iter().zip(&other.changes).enumerate() {
            prop_assert_eq!(one.effect == other.effect, number != at);
        }
    }

    #[test]
    fn reasons_marks_of_secrets_and_unchanged_resources_do_not_count(changes in changes(), at in any::<Index>()) {
        let plan = of_changes(&changes);
        let mut other = changes.clone();
        let change = &mut other[at.index(changes.len())];
        change["action_reason"] = "other".into();
        change["change"]["after_sensitive"] = json!({ "v": true });
        change["change"]["after_unknown"]["x"] = json!([]);
        change["change"]["replace_paths"] = json!([["w", 0], ["v"]]);
        other.push(json!({ "address": "x.y", "change": { "actions": ["no-op"], "before": { "v": 1 } } }));
        other.push(json!({ "address": "data.x.y", "change": { "actions": ["read"], "after": { "v": 1 } } }));
        prop_assert_eq!(of_changes(&other).effect, plan.effect);
    }
}

#[test]
fn numbers_are_compared_as_they_are_written() {
    let of = |number: &str| {
        plan_of(&format!(
            "{{\"format_version\":\"1.0\",\"resource_changes\":[{{\"address\":\"a.b\",\"change\":{{\"actions\":[\"create\"],\
             \"after\":{{\"n\":{number}}},\"after_sensitive\":{{}}}}}}]}}"
        ))
    };
    let (one, other) = (of("12345678901234567890123"), of("12345678901234567890124"));
    assert_ne!(one.effect, other.effect);
    assert_eq!(
        attribute_lines(&one.changes[0]),
        ["    ~ n: absent -> 12345678901234567890123"]
    );
}

#[test]
fn moves_imports_and_forgets_have_effects() {
    let change = |members: Value| {
        let mut change = json!({
            "address": "a.b", "change": { "actions": ["no-op"], "before": { "v": 1 }, "after": { "v": 1 } }
        });
        let members = members.as_object().unwrap().clone();
        change.as_object_mut().unwrap().extend(members);
        change
    };
    let plain = of_changes(&[change(json!({}))]);
    assert_eq!(plain.changes[0].effect, "");
    let moved = of_changes(&[change(json!({ "previous_address": "a.c" }))]);
    let unmoved = of_changes(&[change(json!({ "previous_address": "a.b" }))]);
    assert_eq!(unmoved.effect, plain.effect);
    let imported = json!({ "change": { "actions": ["no-op"], "importing": { "id": "x" } } });
    let imported = of_changes(&[change(imported)]);
    let forgotten = json!({ "change": { "actions": ["forget"], "before": { "v": 1 } } });
    let forgotten = of_changes(&[change(forgotten)]);
    let plans = [plain, moved, imported, forgotten];
    for (index, one) in plans.iter().enumerate() {
        for other in &plans[index + 1..] {
            assert_ne!(one.effect, other.effect);
        }
    }
    let counts = plans.map(|plan| {
        let counts = plan.counts.unwrap();
        [
            counts.unchanged,
            counts.moved,
            counts.imported,
            counts.forgotten,
        ]
    });
    assert_eq!(
        counts,
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    );
}

#[test]
fn an_action_of_a_provider_has_an_effect_of_its_values() {
    let plan = |value: u32, event: &str| {
        let invocation = json!({
            "address": "action.a.b", "config_values": { "secret": value }, "config_unknown": {},
            "lifecycle_action_trigger": { "triggering_resource_address": "a.b", "action_trigger_event": event }
        });
        plan_of(&json!({ "format_version": "1.2", "action_invocations": [invocation] }).to_string())
    };
    let one = plan(1, "AfterCreate");
    assert_eq!(one.invocations[0].effect.len(), 32);
    assert_eq!(one.counts.unwrap().invoked, 1);
    assert_eq!(one, plan(1, "AfterCreate"));
    assert_ne!(one.effect, plan(2, "AfterCreate").effect);
    assert_ne!(one.effect, plan(1, "BeforeCreate").effect);
    assert_ne!(one.effect, of_changes(&[]).effect);
}

#[test]
fn only_a_plan_that_changes_something_has_an_effect() {
    let unchanged = json!({ "address": "a.b", "change": { "actions": ["no-op"] } });
    assert_eq!(of_changes(&[unchanged]).effect, "");
    let outputs = |value: u32| {
        let output = json!({ "actions": ["create"], "after": value, "after_sensitive": false });
        let plan = json!({ "format_version": "1.2", "output_changes": { "a": output } });
        plan_of(&plan.to_string()).effect
    };
    assert_eq!(outputs(1).len(), 32);
    assert_eq!(outputs(1), outputs(2), "values of outputs are not a part");
}

#[test]
fn a_map_whose_members_are_all_unknown_is_not_empty() {
    let mut change = created(&json!({ "input": {}, "empty": {} }));
    change["change"]["after_unknown"] = json!({ "input": { "of": true }, "empty": {} });
    let plan = of_changes(&[change]);
    let paths = plan.changes[0].attributes.iter();
    let paths: Vec<_> = paths.map(|attribute| attribute.path.as_str()).collect();
    assert_eq!(paths, ["empty", "input[\"of\"]"]);
}
