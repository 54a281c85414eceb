use cts_proto::run::v1::PlannedInvocation;
use proptest::prelude::*;

use super::*;

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn json(text: &str) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(Value::Json(text.into())),
        hash: Vec::new(),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn unknown() -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(Value::Unknown(true)),
        hash: Vec::new(),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn hidden(hash: u8) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(Value::Hidden(true)),
        hash: vec![hash; 32],
    })
}

type Sides = (Option<PlannedValue>, Option<PlannedValue>);

fn change(action: PlannedAction, attributes: &[(&str, Sides)]) -> PlannedChange {
    let attributes = attributes.iter().cloned();
    let attributes = attributes.map(|(path, (before, after))| PlannedAttribute {
        path: path.into(),
        before,
        after,
        changed: true,
        forces_replacement: false,
        ignored: false,
    });
    PlannedChange {
        address: "t.a".into(),
        provider: "p".into(),
        actions: vec![format!("{action:?}")],
        action: action.into(),
        attributes: attributes.collect(),
        effect: format!("{action:?}"),
        ..PlannedChange::default()
    }
}

/// The change with another fingerprint, as after the second plan.
fn again(change: &PlannedChange) -> PlannedChange {
    PlannedChange {
        effect: format!("{} again", change.effect),
        ..change.clone()
    }
}

fn plan(changes: Vec<PlannedChange>) -> PlanData {
    PlanData {
        extent: PlanExtent::All.into(),
        changes,
        ..PlanData::default()
    }
}

fn rest_of(change: PlannedChange, approved: &PlannedChange) -> bool {
    is_rest(&plan(vec![change]), &plan(vec![approved.clone()]))
}

const OLD: &str = "\"old\"";
const NEW: &str = "\"new\"";

fn deposed(before: &str) -> PlannedChange {
    PlannedChange {
        deposed: "d1".into(),
        ..change(PlannedAction::Delete, &[("x", (json(before), None))])
    }
}

fn create(after: &str) -> PlannedChange {
    change(
        PlannedAction::Create,
        &[("x", (None, json(after))), ("id", (None, unknown()))],
    )
}

fn replace(action: PlannedAction) -> PlannedChange {
    change(
        action,
        &[
            ("x", (json(OLD), json(NEW))),
            ("id", (json("1"), unknown())),
        ],
    )
}

#[test]
fn second_half_of_a_replacement_is_its_rest() {
    let destroys_first = replace(PlannedAction::DeleteThenCreate);
    let creates_first = replace(PlannedAction::CreateThenDelete);
    let mut both = deposed(OLD);
    let id = change(PlannedAction::Delete, &[("id", (json("1"), None))]);
    both.attributes.extend(id.attributes);
    for (half, approved, expected) in [
        (create(NEW), &destroys_first, true),
        (create(NEW), &creates_first, true),
        (create(OLD), &destroys_first, false),
        (again(&destroys_first), &destroys_first, true),
        (again(&creates_first), &creates_first, true),
        (again(&creates_first), &destroys_first, false),
        (both.clone(), &creates_first, true),
        (both, &destroys_first, false),
        (deposed(NEW), &creates_first, false),
        (
            change(PlannedAction::Delete, &[("x", (json(OLD), None))]),
            &creates_first,
            false,
        ),
    ] {
        assert_eq!(rest_of(half.clone(), approved), expected, "{half:?}");
    }
}

#[test]
fn the_rest_of_a_deletion_is_nothing() {
    let approved = change(PlannedAction::Delete, &[("x", (json(OLD), None))]);
    assert!(is_rest(&plan(Vec::new()), &plan(vec![approved.clone()])));
    assert!(!rest_of(create(OLD), &approved));
    let other = change(PlannedAction::Delete, &[("x", (json(NEW), None))]);
    assert!(!rest_of(again(&other), &approved));
}

#[test]
fn values_that_were_unknown_may_be_known_now() {
    let update = |after: &[(&str, Option<PlannedValue>)]| {
        let attributes = after.iter().cloned();
        let attributes: Vec<_> = attributes
            .map(|(path, after)| (path, (None, after)))
            .collect();
        change(PlannedAction::Update, &attributes)
    };
    let approved = update(&[("x", json(NEW)), ("tags", unknown()), ("secret", hidden(1))]);
    let x = ("x", json(NEW));
    let secret = ("secret", hidden(1));
    for (now, expected) in [
        (vec![x.clone(), ("tags", unknown()), secret.clone()], true),
        (vec![x.clone(), ("tags", json("{}")), secret.clone()], true),
        (vec![x.clone(), secret.clone()], true),
        (
            vec![x.clone(), ("tags[\"a\"].b", json("1")), secret.clone()],
            true,
        ),
        (vec![x.clone(), ("tagsa", json("1")), secret.clone()], false),
        (vec![("x", unknown()), secret.clone()], false),
        (vec![("x", json(OLD)), secret.clone()], false),
        (vec![secret], false),
        (vec![x.clone(), ("secret", hidden(2))], false),
        (vec![x.clone(), ("secret", json("1"))], false),
        (vec![x, ("secret", hidden(1)), ("y", json("1"))], false),
    ] {
        let change = again(&update(&now));
        assert_eq!(rest_of(change, &approved), expected, "{now:?}");
    }
    let mut nothing_hashed = approved;
    for attribute in &mut nothing_hashed.attributes {
        attribute.after.as_mut().unwrap().hash.clear();
    }
    assert!(!rest_of(again(&nothing_hashed), &nothing_hashed));
}

#[test]
fn identity_of_a_change_counts() {
    let approved = PlannedChange {
        previous_address: "t.old".into(),
        importing: "i-1".into(),
        ..replace(PlannedAction::DeleteThenCreate)
    };
    let with = |edit: fn(&mut PlannedChange)| {
        let mut change = again(&approved);
        edit(&mut change);
        rest_of(change, &approved)
    };
    assert!(with(|_| {}));
    assert!(with(|it| it.previous_address.clear()));
    assert!(with(|it| it.importing.clear()));
    assert!(!with(|it| it.previous_address = "t.other".into()));
    assert!(!with(|it| it.importing = "i-2".into()));
    assert!(!with(|it| it.address = "t.b".into()));
    assert!(!with(|it| it.deposed = "d1".into()));
    assert!(!with(|it| it.provider = "q".into()));
    assert!(!with(
        |it| it.actions = vec!["create".into(), "delete".into()]
    ));
    // A change without attributes is equal only by its fingerprint.
    assert!(!with(|it| it.attributes.clear()));
    let bare = PlannedChange {
        attributes: Vec::new(),
        ..approved.clone()
    };
    assert!(!rest_of(again(&bare), &bare));
    assert!(rest_of(bare.clone(), &bare));
}

#[test]
fn ignored_attributes_may_differ_while_they_are_ignored() {
    let with = |time: Option<PlannedValue>, ignored: bool| {
        let sides = [("a", (json("1"), json("2"))), ("time", (json("0"), time))];
        let mut change = change(PlannedAction::Update, &sides);
        change.attributes[1].ignored = ignored;
        change
    };
    let rests = |now: PlannedChange, then: PlannedChange| {
        is_rest(&plan(vec![again(&now)]), &plan(vec![then]))
    };
    for time in [json("2"), unknown(), hidden(1), None] {
        assert!(rests(with(time.clone(), true), with(json("1"), true)));
        assert!(rests(with(time.clone(), true), with(json("1"), false)));
        assert!(!rests(with(time, false), with(json("1"), true)));
    }
    let mut gone = with(None, true);
    gone.attributes.truncate(1);
    assert!(rests(gone.clone(), with(json("1"), true)));
    assert!(!rests(gone, with(json("1"), false)));
    let mut other = with(json("1"), true);
    other.attributes[0].after = json("3");
    assert!(!rests(other, with(json("1"), true)));
}

#[test]
fn invocations_are_equal_by_their_fingerprint() {
    let invokes = |effect: &str| PlanData {
        invocations: vec![PlannedInvocation {
            effect: effect.into(),
            ..PlannedInvocation::default()
        }],
        ..plan(Vec::new())
    };
    assert!(is_rest(&invokes("a"), &invokes("a")));
    assert!(!is_rest(&invokes("b"), &invokes("a")));
    assert!(!is_rest(&invokes(""), &invokes("")));
}

#[test]
fn an_unclear_or_partial_plan_is_a_rest_only_by_fingerprints() {
    let approved = plan(vec![replace(PlannedAction::DeleteThenCreate)]);
    let same = approved.clone();
    let half = plan(vec![create(NEW)]);
    assert!(is_rest(&half, &approved) && is_rest(&same, &approved));
    let unclear = |plan: &PlanData, reason: &str| PlanData {
        unclear: vec![reason.to_owned()],
        ..plan.clone()
    };
    let then = unclear(&approved, "why");
    assert!(!is_rest(&half, &then) && is_rest(&same, &then));
    assert!(is_rest(&unclear(&same, "why"), &then));
    assert!(!is_rest(&unclear(&same, "other"), &then));
    assert!(!is_rest(&unclear(&same, "why"), &approved));
    let kept = |plan: &PlanData, extent: PlanExtent| PlanData {
        extent: extent.into(),
        ..plan.clone()
    };
    let addresses = kept(&approved, PlanExtent::Addresses);
    assert!(!is_rest(&half, &addresses) && is_rest(&same, &addresses));
    for extent in [PlanExtent::Counts, PlanExtent::Unspecified] {
        let counts = PlanData {
            changes: Vec::new(),
            ..kept(&approved, extent)
        };
        assert!(!is_rest(&counts, &approved) && !is_rest(&same, &counts));
        assert!(!is_rest(&counts, &counts));
    }
}

fn any_value() -> impl Strategy<Value = Option<PlannedValue>> {
    prop_oneof![
        "[a-c]{0,2}".prop_map(|text| json(&text)),
        (0..3_u8).prop_map(hidden),
        Just(unknown()),
        Just(None),
    ]
}

fn any_plan() -> impl Strategy<Value = PlanData> {
    let action = prop_oneof![
        Just(PlannedAction::Create),
        Just(PlannedAction::Update),
        Just(PlannedAction::Delete),
        Just(PlannedAction::DeleteThenCreate),
        Just(PlannedAction::CreateThenDelete),
    ];
    let attributes = prop::collection::btree_map("[a-f]", any_value(), 1..5);
    let changes = prop::collection::vec((action, attributes), 1..6);
    changes.prop_map(|changes| {
        let changes = changes.into_iter().enumerate();
        let changes = changes.map(|(number, (action, attributes))| {
            let attributes = attributes.iter();
            let attributes: Vec<_> = attributes
                .map(|(path, after)| (path.as_str(), (json("before"), after.clone())))
                .collect();
            PlannedChange {
                address: format!("t.{number}"),
                effect: format!("effect {number}"),
                ..change(action, &attributes)
            }
        });
        plan(changes.collect())
    })
}

proptest! {
    #[test]
    fn each_part_of_a_plan_is_its_rest(approved in any_plan(), kept in any::<u8>(), learned in any::<u8>()) {
        let mut rest = approved.clone();
        let mut number = 0;
        rest.changes.retain(|_| { number += 1; kept & (1 << number) != 0 });
        for (number, change) in rest.changes.iter_mut().enumerate() {
            *change = again(change);
            for attribute in &mut change.attributes {
                let is_unknown = attribute.after == unknown();
                if is_unknown && learned & (1 << number) != 0 {
                    attribute.after = json("learned");
                }
            }
        }
        prop_assert!(is_rest(&rest, &approved));
    }

    #[test]
    fn no_plan_with_a_different_known_value_is_a_rest(
        approved in any_plan(), place in any::<prop::sample::Index>(), changes_before in any::<bool>()
    ) {
        let mut rest = plan(approved.changes.iter().map(again).collect());
        let number = place.index(rest.changes.len());
        let change = &mut rest.changes[number];
        let attribute = place.index(change.attributes.len());
        let attribute = &mut change.attributes[attribute];
        if changes_before || attribute.after == unknown() {
            attribute.before = json("different");
        } else {
            attribute.after = json("different");
        }
        prop_assert!(!is_rest(&rest, &approved));
    }

    #[test]
    fn no_plan_with_a_further_change_is_a_rest(approved in any_plan(), further in any_plan()) {
        let mut rest = approved.clone();
        let further = further.changes.into_iter().map(|it| PlannedChange {
            address: format!("further {}", it.address),
            ..again(&it)
        });
        rest.changes.extend(further);
        prop_assert!(!is_rest(&rest, &approved));
    }
}
