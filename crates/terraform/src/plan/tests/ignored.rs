//! Attributes that effects do not have, and destructions, whose effects have no attributes.

use proptest::prelude::*;

use super::*;

/// A context with these attributes ignored.
fn ignoring(attributes: &[&str]) -> PlanContext {
    PlanContext {
        ignored: attributes.iter().map(|it| it.parse().unwrap()).collect(),
        ..context()
    }
}

/// An update at an address.
fn updated(address: &str, [before, after]: &[Value; 2], unknown: &Value) -> Value {
    json!({
        "address": address, "provider_name": "p",
        "change": { "actions": ["update"], "before": before, "after": after, "after_unknown": unknown,
                    "before_sensitive": {}, "after_sensitive": { "key": true } }
    })
}

/// An update with these values, which effects may not have.
fn with(time: &str, port: u32, key: &str, unknown: bool) -> Value {
    let before = json!({ "tags": { "time": "then", "name": "n" }, "rule": [{ "port": 1 }], "key": "old", "a": 1 });
    let mut after = json!({ "tags": { "time": time, "name": "n" }, "rule": [{ "port": port }], "key": key, "a": 1 });
    if unknown {
        after.as_object_mut().unwrap().remove("a");
    }
    updated("m.x[\"k\"]", &[before, after], &json!({ "a": unknown }))
}

const ALL: [&str; 4] = ["m.x.tags.time", "m.x.rule.port", "m.x[\"k\"].key", "m.x.a"];

proptest! {
    #[test]
    fn ignored_attributes_do_not_count_and_others_do(
        time in "[a-z]{1,3}", port in 2..9_u32, key in "[a-z]{9}", unknown in any::<bool>(), left_out in 0..ALL.len(),
    ) {
        let [one, other] = [with("now", 1, "first-key", false), with(&time, port, &key, unknown)];
        let context = ignoring(&ALL);
        let plans = [&one, &other].map(|change| read_with(&context, std::slice::from_ref(change)));
        prop_assert_eq!(&plans[0].effect, &plans[1].effect);
        prop_assert_eq!(&plans[0].changes[0].effect, &plans[1].changes[0].effect);
        // Each is needed, unless its values happen to be equal.
        let mut fewer = ALL.to_vec();
        fewer.remove(left_out);
        let differs = [time != "now", true, key != "first-key", unknown][left_out];
        let context = ignoring(&fewer);
        let plans = [&one, &other].map(|change| read_with(&context, std::slice::from_ref(change)));
        prop_assert_eq!(plans[0].effect != plans[1].effect, differs);
    }
}

#[test]
fn an_update_of_ignored_attributes_alone_stays_in_the_effect() {
    let context = ignoring(&["m.x.tags"]);
    let tags = |time: &str| json!({ "tags": { "time": time } });
    let plan = |values| read_with(&context, &[updated("m.x", &values, &json!({}))]);
    let one = plan([tags("a"), tags("b")]);
    assert_eq!((one.effect.len(), one.changes[0].effect.len()), (32, 32));
    assert_eq!(one.effect, plan([tags("b"), tags("c")]).effect);
    let deleted = json!({ "address": "m.x", "provider_name": "p", "change": { "actions": ["delete"], "before": tags("a") } });
    assert_ne!(one.effect, read_with(&context, &[deleted]).effect);
    assert_ne!(one.effect, read_with(&context, &[]).effect);
}

#[test]
fn other_addresses_and_instances_count() {
    let tags = |time: &str| json!({ "tags": time });
    let effects = |ignored: &[&str], address: &str| {
        let context = ignoring(ignored);
        ["a", "b"].map(|time| {
            let values = [tags("then"), tags(time)];
            read_with(&context, &[updated(address, &values, &json!({}))]).effect
        })
    };
    for (ignored, address, is_equal) in [
        ("m.x.tags", "m.x", true),
        ("m.x.tags", "m.x[0]", true),
        ("m.x[0].tags", "m.x[0]", true),
        ("m.x[0].tags", "m.x[1]", false),
        ("m.x[0].tags", "m.x", false),
        ("m.y.tags", "m.x", false),
        ("m.x.tag", "m.x", false),
        ("module.a.m.x.tags", "module.a[\"k\"].m.x", true),
        ("m.x.tags", "module.a.m.x", false),
    ] {
        let [one, other] = effects(&[ignored], address);
        assert_eq!(one == other, is_equal, "{ignored} {address}");
    }
}

#[test]
fn ignored_attributes_are_marked_and_hidden_ones_are_compared_without_them() {
    let plan = |time: &str, name: &str| {
        let env =
            |time: &str| json!({ "env": { "time": time, "name": name }, "tags": { "time": time } });
        let change = updated("m.x", &[env("then"), env(time)], &json!({}));
        read_with(&ignoring(&["m.x.env.time", "m.x.tags"]), &[change])
    };
    let (one, other) = (plan("a", "n"), plan("b", "n"));
    assert_eq!(one.effect, other.effect);
    let marks = |plan: &PlanData| -> Vec<(String, bool)> {
        let attributes = plan.changes[0].attributes.iter();
        attributes.map(|it| (it.path.clone(), it.ignored)).collect()
    };
    let expected = [
        ("env".to_owned(), false),
        ("tags[\"time\"]".to_owned(), true),
    ];
    assert_eq!(marks(&one), expected);
    let env = |plan: &PlanData| plan.changes[0].attributes[0].after.clone();
    assert_eq!(env(&one), env(&other));
    assert_ne!(env(&one), env(&plan("a", "m")));
}

#[test]
fn the_effect_of_a_destruction_is_the_set_of_its_addresses() {
    let context = PlanContext {
        destroys: true,
        ..context()
    };
    let deleted = |address: &str, deposed: &str, value: u32| {
        json!({
            "address": address, "deposed": deposed,
            "change": { "actions": ["delete"], "before": { "v": value }, "before_sensitive": {} }
        })
    };
    let plan = |changes: &[Value]| read_with(&context, changes);
    let both = plan(&[deleted("m.x", "", 1), deleted("m.y", "", 1)]);
    let again = plan(&[deleted("m.y", "", 2), deleted("m.x", "", 2)]);
    assert_eq!(both.effect, again.effect);
    assert_eq!(both.changes[0].effect, again.changes[1].effect);
    let fewer = plan(&[deleted("m.x", "", 1)]);
    assert_ne!(both.effect, fewer.effect);
    assert_eq!(both.changes[0].effect, fewer.changes[0].effect);
    let deposed = plan(&[deleted("m.x", "d", 1)]);
    assert_ne!(deposed.changes[0].effect, fewer.changes[0].effect);
    let mut forgotten = deleted("m.x", "", 1);
    forgotten["change"]["actions"] = json!(["forget"]);
    assert_ne!(plan(&[forgotten]).effect, fewer.effect);
    assert_ne!(of_changes(&[deleted("m.x", "", 1)]).effect, fewer.effect);
    // An address in another state is another object.
    let mut elsewhere = PlanContext {
        destroys: true,
        ..self::context()
    };
    elsewhere.scope.lineage = Some("another".into());
    let elsewhere = read_with(&elsewhere, &[deleted("m.x", "", 1)]);
    assert_ne!(elsewhere.changes[0].effect, fewer.changes[0].effect);
}
