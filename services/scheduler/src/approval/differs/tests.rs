//! Texts about the difference of two plans.

use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{PlannedInvocation, PlannedValue};

use super::*;

const SECRET: &str = "value-that-nobody-sees";

fn json(text: &str) -> PlannedValue {
    PlannedValue {
        value: Some(Value::Json(text.into())),
        hash: Vec::new(),
    }
}

fn hidden(hash: u8) -> PlannedValue {
    PlannedValue {
        value: Some(Value::Hidden(true)),
        hash: vec![hash],
    }
}

/// An update with these attributes after it.
fn change(address: &str, effect: &str, attributes: &[(&str, PlannedValue)]) -> PlannedChange {
    let attribute = |(path, after): &(&str, PlannedValue)| PlannedAttribute {
        path: (*path).into(),
        before: Some(json(SECRET)),
        after: Some(after.clone()),
        ..PlannedAttribute::default()
    };
    PlannedChange {
        address: address.into(),
        actions: vec!["update".into()],
        attributes: attributes.iter().map(attribute).collect(),
        effect: effect.into(),
        ..PlannedChange::default()
    }
}

fn plan(changes: Vec<PlannedChange>) -> PlanData {
    PlanData {
        extent: PlanExtent::All.into(),
        changes,
        ..PlanData::default()
    }
}

/// The difference of two changes of one address.
fn between(now: &[(&str, PlannedValue)], then: &[(&str, PlannedValue)]) -> String {
    let plan = |effect, attributes| plan(vec![change("t.a", effect, attributes)]);
    let lines = differences(&plan("now", now), &plan("then", then), false);
    assert_eq!(lines.len(), 1);
    lines[0].clone()
}

#[test]
fn attributes_are_named_without_their_values() {
    let one = [("tags[\"time\"]", json("1")), ("b", json(SECRET))];
    let other = [("tags[\"time\"]", json("2")), ("b", json(SECRET))];
    let without_key = "t.a: tags[\"(hidden)\"]";
    assert_eq!(between(&one, &other), without_key);
    assert_eq!(between(&one, &one[..1]), "t.a: b");
    assert_eq!(between(&one[..1], &one), "t.a: b");
    let unknown = PlannedValue {
        value: Some(Value::Unknown(true)),
        hash: Vec::new(),
    };
    assert_eq!(between(&one[..1], &[(one[0].0, unknown)]), without_key);
    // Hidden values differ by their hashes.
    assert_eq!(between(&[("k", hidden(1))], &[("k", hidden(2))]), "t.a: k");
    let same = between(&[("k", hidden(1))], &[("k", hidden(1))]);
    assert_eq!(same, "t.a: values that are not kept");
}

#[test]
fn ignored_attributes_are_not_named() {
    let with = |effect, time: &str, other: &str| {
        let mut change = change("t.a", effect, &[("time", json(time)), ("b", json(other))]);
        change.attributes[0].ignored = true;
        plan(vec![change])
    };
    let lines = differences(&with("now", "1", "1"), &with("then", "2", "2"), true);
    assert_eq!(lines, ["t.a: b", HINT]);
}

#[test]
fn changes_that_come_and_go_and_actions_are_named() {
    let mut deposed = change("t.d", "1", &[]);
    deposed.deposed = "0af1".into();
    let mut deleted = change("t.c", "2", &[]);
    deleted.actions = vec!["delete".into()];
    let read = change("data.t.a", "", &[("x", json("1"))]);
    let same = change("t.same", "1", &[("x", json("1"))]);
    let now = plan(vec![deposed, deleted, same.clone(), read]);
    let then = plan(vec![change("t.c", "1", &[]), same, change("t.z", "1", &[])]);
    let lines = differences(&now, &then, true);
    let expected = [
        "t.c: its actions",
        "t.d (deposed): only in the new plan",
        "t.z: only in the plan before",
    ];
    assert_eq!(lines, expected);
    let invokes = |effect: &str| PlanData {
        invocations: vec![PlannedInvocation {
            address: "action.t.a".into(),
            event: "AfterCreate".into(),
            effect: effect.into(),
            ..PlannedInvocation::default()
        }],
        ..plan(Vec::new())
    };
    let lines = differences(&invokes("1"), &invokes("2"), false);
    assert_eq!(lines, ["action.t.a (AfterCreate): its values"]);
}

#[test]
fn texts_are_bounded_and_cannot_steer_a_terminal() {
    let attributes: Vec<_> = (0..1000)
        .map(|it| format!("\u{1b}[2J{it}{}", "x".repeat(500)))
        .collect();
    let with = |effect: &str, value: &str| {
        let attributes: Vec<_> = attributes
            .iter()
            .map(|path| (path.as_str(), json(value)))
            .collect();
        let address = |number: u32| format!("t.a[{number}]\n{}", "y".repeat(1000));
        let changes = (0..20).map(|number| change(&address(number), effect, &attributes));
        plan(changes.collect())
    };
    let lines = differences(&with("now", "1"), &with("then", "2"), true);
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].ends_with(" and 997 more attributes"),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], "and 19 more addresses");
    let text = lines.join("\n");
    assert!(text.len() <= 1024 && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn plans_without_addresses_and_other_states_have_a_reason() {
    let counts = PlanData {
        extent: PlanExtent::Counts.into(),
        ..PlanData::default()
    };
    let lines = differences(&counts, &plan(Vec::new()), true);
    assert_eq!(lines, ["the addresses of the plans are not kept"]);
    let same = plan(vec![change("t.a", "1", &[])]);
    let lines = differences(&same, &same, true);
    assert_eq!(lines, ["no address: the state that is changed differs"]);
}
