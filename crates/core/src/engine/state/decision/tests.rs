//! Decisions about the state with which a task continues.

use proptest::prelude::*;

use super::*;

fn state(lineage: &str, serial: u64) -> TerraformState {
    TerraformState::new(lineage, serial).unwrap()
}

fn known(serial: u64, moved: Option<u64>) -> KnownState {
    KnownState {
        lineage: "ours".into(),
        serial,
        moved,
    }
}

const MOVE: Decision = Decision::Move { force: false };

#[test]
fn tasks_without_a_known_state_take_what_they_find() {
    let there = state("any", 3);
    let unknown = &Source::Unknown;
    let found = decide(None, Some(&there), &Source::State(state("old", 9)), None);
    assert_eq!(found, Decision::GoOn(Some(there)));
    let old = &Source::State(state("old", 9));
    assert_eq!(decide(None, None, old, None), MOVE);
    assert_eq!(decide(None, None, unknown, None), Decision::GoOn(None));
    let nothing = &Source::Nothing;
    assert_eq!(decide(None, None, nothing, None), Decision::GoOn(None));
}

#[test]
fn the_known_state_goes_on_wherever_it_is() {
    let known = known(5, None);
    for serial in [5, 6, 70] {
        let target = state("ours", serial);
        let decided = decide(Some(&known), Some(&target), &Source::Unknown, None);
        assert_eq!(decided, Decision::GoOn(Some(target)));
    }
}

#[test]
fn a_known_state_that_is_missing_is_never_begun_anew() {
    let known = known(5, Some(2));
    for (source, expected) in [
        (Source::Unknown, Decision::Refuse(StateRefusal::NoSource)),
        (Source::Nothing, Decision::Refuse(StateRefusal::SourceEmpty)),
        (
            Source::State(state("other", 9)),
            Decision::Refuse(StateRefusal::SourceForeign),
        ),
        (
            Source::State(state("ours", 4)),
            Decision::Refuse(StateRefusal::SourceOlder),
        ),
        (Source::State(state("ours", 5)), MOVE),
        (Source::State(state("ours", 8)), MOVE),
    ] {
        assert_eq!(decide(Some(&known), None, &source, None), expected);
    }
}

#[test]
fn on_the_way_back_only_what_was_moved_away_is_replaced() {
    let source = &Source::State(state("ours", 9));
    let decided = |moved, serial| {
        let target = state("ours", serial);
        decide(Some(&known(9, moved)), Some(&target), source, None)
    };
    assert_eq!(decided(Some(5), 5), MOVE);
    assert_eq!(decided(Some(5), 4), MOVE);
    let refused = Decision::Refuse(StateRefusal::BothChanged);
    assert_eq!(decided(Some(5), 6), refused, "it was changed there");
    assert_eq!(decided(None, 5), refused, "it was never moved");
}

#[test]
fn an_unrelated_state_is_not_overwritten_even_without_resources() {
    let mut target = state("other", 1);
    target.resources = Some(0);
    let source = &Source::State(state("ours", 9));
    assert_eq!(
        decide(Some(&known(9, Some(9))), Some(&target), source, None),
        Decision::Refuse(StateRefusal::TargetForeign)
    );
}

#[test]
fn a_decision_of_a_person_is_carried_out() {
    let known = known(5, None);
    let (target, old) = (state("other", 1), state("ours", 4));
    let source = &Source::State(old.clone());
    let keep = |keep, target| decide(Some(&known), target, source, Some(keep));
    assert_eq!(
        keep(Keep::New, Some(&target)),
        Decision::GoOn(Some(target.clone()))
    );
    assert_eq!(keep(Keep::New, None), Decision::GoOn(None));
    let forced = Decision::Move { force: true };
    assert_eq!(keep(Keep::Old, Some(&target)), forced);
    assert_eq!(keep(Keep::Old, None), forced);
    let pushed = keep(Keep::Old, Some(&old));
    assert_eq!(pushed, Decision::GoOn(Some(old)), "it was pushed before");
    let unknown = decide(Some(&known), None, &Source::Unknown, Some(Keep::Old));
    assert_eq!(unknown, Decision::Refuse(StateRefusal::NoSource));
}

#[test]
fn the_state_of_an_earlier_task_is_taken_only_where_there_is_none() {
    let source = Source::State(state("earlier", 7));
    assert_eq!(decide_from(None, &source, None), MOVE);
    let pushed = state("earlier", 7);
    let decided = decide_from(Some(&pushed), &source, None);
    assert_eq!(decided, Decision::GoOn(Some(pushed)));
    let own = state("own", 1);
    let taken = Decision::Refuse(StateRefusal::TargetTaken);
    assert_eq!(decide_from(Some(&own), &source, None), taken);
    let empty = Decision::Refuse(StateRefusal::SourceEmpty);
    assert_eq!(decide_from(None, &Source::Nothing, None), empty);
}

#[test]
fn a_state_is_lost_only_where_it_was_and_an_earlier_version_anywhere() {
    let known = known(5, None);
    for (target, had_it, expected) in [
        (None, true, StateRefusal::Lost),
        (None, false, StateRefusal::NoSource),
        (Some(state("other", 9)), true, StateRefusal::Replaced),
        (Some(state("other", 9)), false, StateRefusal::NoSource),
        (Some(state("ours", 4)), true, StateRefusal::Older),
        (Some(state("ours", 4)), false, StateRefusal::Older),
    ] {
        let target = target.as_ref();
        let decided = decide(Some(&known), target, &Source::Unknown, None);
        let Decision::Refuse(refusal) = decided else {
            panic!("{decided:?}");
        };
        assert_eq!(refusal.at_place(had_it, Some(&known), target), expected);
        let named = StateRefusal::SourceEmpty.at_place(had_it, Some(&known), target);
        assert_eq!(
            named,
            StateRefusal::SourceEmpty,
            "another place was looked at"
        );
    }
}

fn states() -> impl Strategy<Value = TerraformState> {
    ("[ab]", 0..6_u64).prop_map(|(lineage, serial)| state(&lineage, serial))
}

fn sources() -> impl Strategy<Value = Source> {
    prop_oneof![
        Just(Source::Unknown),
        Just(Source::Nothing),
        states().prop_map(Source::State),
    ]
}

proptest! {
    #[test]
    fn a_lapse_is_found_exactly_where_the_known_state_does_not_go_on(
        known in prop::option::of(("[ab]", 0..6_u64, prop::option::of(0..6_u64))),
        found in prop::option::of(states()),
        source in sources(),
    ) {
        let known = known.map(|(lineage, serial, moved)| KnownState { lineage, serial, moved });
        let lapse = lapse(known.as_ref(), found.as_ref());
        let goes_on = match (&known, &found) {
            (None, _) => true,
            (Some(known), Some(found)) => known.is_continued_by(found),
            (Some(_), None) => false,
        };
        prop_assert_eq!(lapse.is_none(), goes_on);
        if lapse.is_some() {
            let decided = decide(known.as_ref(), found.as_ref(), &source, None);
            prop_assert!(!matches!(decided, Decision::GoOn(_)), "{:?}", decided);
        }
    }

    #[test]
    fn without_a_decision_no_change_is_ever_lost(
        known in prop::option::of(("[ab]", 0..6_u64, prop::option::of(0..6_u64))),
        target in prop::option::of(states()),
        source in sources(),
    ) {
        let known = known.map(|(lineage, serial, moved)| KnownState { lineage, serial, moved });
        match decide(known.as_ref(), target.as_ref(), &source, None) {
            Decision::GoOn(with) => {
                prop_assert_eq!(&with, &target);
                if let Some(known) = &known {
                    prop_assert!(with.is_some_and(|state| known.is_continued_by(&state)));
                }
            }
            Decision::Move { force } => {
                prop_assert!(!force);
                let Source::State(source) = &source else {
                    return Err(TestCaseError::fail("nothing is moved"));
                };
                if let Some(known) = &known {
                    prop_assert!(known.is_continued_by(source));
                }
                if let Some(target) = &target {
                    // An overwritten state is an earlier version of the pushed state, left over from a move.
                    prop_assert!(source.continues(target));
                    prop_assert!(known.and_then(|known| known.moved) >= Some(target.serial));
                }
            }
            Decision::Refuse(_) => prop_assert!(known.is_some()),
        }
    }

    #[test]
    fn a_move_that_was_pushed_goes_on_whether_it_was_recorded_or_not(
        serial in 0..6_u64,
        moved in prop::option::of(0..6_u64),
        target in prop::option::of(states()),
        source in states(),
        keep in prop::option::of(prop_oneof![Just(Keep::Old), Just(Keep::New)]),
    ) {
        let known = KnownState { lineage: "a".into(), serial, moved };
        let from = Source::State(source.clone());
        if let Decision::Move { .. } = decide(Some(&known), target.as_ref(), &from, keep) {
            let go_on = || Decision::GoOn(Some(source.clone()));
            prop_assert_eq!(decide(Some(&known), Some(&source), &from, keep), go_on());
            let recorded = KnownState {
                lineage: source.lineage.clone(),
                serial: source.serial,
                moved: Some(source.serial),
            };
            prop_assert_eq!(decide(Some(&recorded), Some(&source), &Source::Unknown, None), go_on());
        }
    }
}

#[test]
fn a_known_state_is_behind_a_newer_version_and_behind_another_state() {
    let known = known(5, None);
    for (found, expected) in [
        (state("ours", 4), false),
        (state("ours", 5), false),
        (state("ours", 6), true),
        (state("other", 1), true),
    ] {
        assert_eq!(known.is_behind(&found), expected, "{found:?}");
    }
}
