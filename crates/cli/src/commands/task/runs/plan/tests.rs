use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{
    DeferredChange, PlannedAction, PlannedAttribute, PlannedChange, PlannedInvocation,
    PlannedOutput, PlannedValue,
};
use insta::assert_snapshot;

use super::*;

fn json(text: &str) -> Option<PlannedValue> {
    value(Value::Json(text.to_owned()))
}

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn value(value: Value) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(value),
        hash: Vec::new(),
    })
}

fn change(action: PlannedAction, address: &str) -> PlannedChange {
    PlannedChange {
        address: address.into(),
        action: action.into(),
        ..PlannedChange::default()
    }
}

fn attribute(
    path: &str,
    before: Option<PlannedValue>,
    after: Option<PlannedValue>,
) -> PlannedAttribute {
    PlannedAttribute {
        path: path.into(),
        changed: before != after,
        before,
        after,
        forces_replacement: false,
        ignored: false,
    }
}

#[test]
fn a_plan_is_shown_in_the_order_of_its_harm() {
    let created = PlannedChange {
        attributes: vec![
            attribute("id", None, value(Value::Unknown(true))),
            attribute("long", None, json(&format!("\"{}\"", "x".repeat(200)))),
        ],
        ..change(PlannedAction::Create, "pool.new[\"a\"]")
    };
    let mut port = attribute("rule[0].port", json("80"), json("12345678901234567890.10"));
    port.forces_replacement = true;
    let replaced = PlannedChange {
        reason: "replace_because_cannot_update".into(),
        attributes: vec![
            port,
            attribute("name", json("\"a\""), json("\"a\"")),
            attribute("kind", json("1"), json("1")),
        ],
        ..change(PlannedAction::DeleteThenCreate, "pool.port")
    };
    let mut secret = attribute("secret", value(Value::Hidden(true)), None);
    secret.changed = true;
    let updated = PlannedChange {
        attributes: vec![secret],
        previous_address: "pool.was".into(),
        ..change(PlannedAction::Update, "pool.is")
    };
    let deleted = PlannedChange {
        deposed: "5f3a".into(),
        attributes: vec![attribute("name", json("\"\u{202e}\u{1b}[31m\""), None)],
        ..change(PlannedAction::Delete, "pool.\u{1b}[2Jgone\n- pool.fake")
    };
    let unknown = PlannedChange {
        actions: vec!["melt".into(), "cast".into()],
        ..change(PlannedAction::Unspecified, "pool.odd")
    };
    let moved = PlannedChange {
        previous_address: "pool.b".into(),
        ..change(PlannedAction::None, "pool.c")
    };
    let imported = PlannedChange {
        importing: "i-1".into(),
        ..change(PlannedAction::None, "pool.d")
    };
    let plan = PlanData {
        effect: "0af1".into(),
        unclear: vec!["the plan is not complete\n".into()],
        counts: Some(PlanCounts {
            created: 1,
            deleted: 1,
            unchanged: 2,
            ..PlanCounts::default()
        }),
        changes: vec![
            change(PlannedAction::None, "pool.same"),
            change(PlannedAction::Read, "data.pool.x"),
            imported,
            moved,
            change(PlannedAction::Forget, "pool.kept"),
            created,
            updated,
            change(PlannedAction::CreateThenDelete, "pool.first"),
            replaced,
            deleted,
            unknown,
        ],
        outputs: vec![PlannedOutput {
            name: "address".into(),
            action: PlannedAction::Update.into(),
            before: json("\"a\""),
            after: value(Value::Unknown(true)),
        }],
        invocations: vec![PlannedInvocation {
            address: "action.lambda.x".into(),
            triggered_by: "pool.port".into(),
            event: "AfterCreate".into(),
            ..PlannedInvocation::default()
        }],
        deferred: vec![DeferredChange {
            address: "pool.later".into(),
            reason: "provider_config_unknown".into(),
        }],
        ..PlanData::default()
    };
    assert_snapshot!(text(&plan));
}

#[test]
fn kept_numbers_are_shown_without_changes() {
    let plan = PlanData {
        extent: PlanExtent::Counts.into(),
        counts: Some(PlanCounts {
            updated: 100_000,
            ..PlanCounts::default()
        }),
        ..PlanData::default()
    };
    assert_eq!(
        text(&plan),
        "Plan: 100000 to update\nOnly the numbers of the changes are kept.\n"
    );
    assert_eq!(
        text(&PlanData::default()),
        "Plan: no changes of resources\n"
    );
}
