//! When the losses of a fleet set the brake, and when it ends.

use std::time::Duration;

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000 + seconds, 0).unwrap()
}

const SETTING: FleetMaxShrink = FleetMaxShrink {
    share: 20,
    within: Duration::from_mins(10),
    at_least: 5,
};

fn view(number: usize) -> ViewId {
    ViewId::new(format!("health.service(s{number})"))
}

fn counts(instances: u32) -> BTreeMap<String, u32> {
    BTreeMap::from([("s".to_owned(), instances)])
}

fn used(views: usize) -> BTreeMap<ViewId, String> {
    (0..views)
        .map(|number| (view(number), String::new()))
        .collect()
}

/// A fleet of views with ten instances each.
fn fleet(views: usize) -> FleetNumbers {
    let mut fleet = FleetNumbers::new(SETTING, &NotedFleet::default());
    fleet.keep_views(&used(views));
    for number in 0..views {
        fleet.observe(&view(number), counts(10), at(0));
    }
    fleet
}

fn totals(fleet: &FleetNumbers) -> (u64, u64) {
    (fleet.totals().lost, fleet.totals().of)
}

#[test]
fn losses_of_many_views_add_up_and_set_the_brake_above_its_share() {
    let mut fleet = fleet(10);
    assert!(fleet.observe(&view(0), counts(0), at(1)));
    assert!(fleet.observe(&view(1), BTreeMap::new(), at(2)));
    assert!(!fleet.judge(at(2)), "20 of 100 are the limit");
    assert!(fleet.observe(&view(2), counts(9), at(3)));
    assert!(fleet.judge(at(3)));
    assert!(fleet.is_set());
    assert_eq!(totals(&fleet), (21, 100));
}

#[test]
fn few_lost_instances_never_set_it() {
    let mut fleet = fleet(1);
    fleet.observe(&view(0), counts(6), at(1));
    assert!(!fleet.judge(at(1)));
    fleet.observe(&view(0), counts(5), at(2));
    assert!(fleet.judge(at(2)));
}

#[test]
fn a_rolling_deployment_and_a_rise_lose_nothing() {
    let mut fleet = fleet(4);
    for number in 0..4 {
        fleet.observe(&view(number), counts(12), at(1));
        fleet.observe(&view(number), counts(12), at(2));
    }
    assert_eq!(totals(&fleet), (0, 48));
    assert!(!fleet.has_fallen());
}

#[test]
fn views_that_no_enabled_task_uses_leave_both_sums_and_new_views_have_no_loss() {
    let mut fleet = fleet(4);
    fleet.observe(&view(0), counts(0), at(1));
    assert_eq!(totals(&fleet), (10, 40));
    let mut used = used(5);
    used.remove(&view(0));
    assert_eq!(fleet.keep_views(&used), [view(4)]);
    assert_eq!(totals(&fleet), (0, 30));
    fleet.observe(&view(4), counts(3), at(2));
    assert_eq!(totals(&fleet), (0, 33));
}

#[test]
fn while_it_is_set_its_reference_stands_still_until_half_of_the_limit_is_back() {
    let mut fleet = fleet(10);
    for number in 0..3 {
        fleet.observe(&view(number), counts(0), at(number.try_into().unwrap()));
    }
    assert!(fleet.judge(at(3)));
    let later = at(3600);
    assert!(fleet.expired(later).is_empty());
    fleet.observe(&view(9), counts(20), later);
    fleet.observe(&view(9), counts(10), later);
    assert_eq!(
        totals(&fleet),
        (30, 100),
        "a rise does not raise the reference"
    );
    fleet.observe(&view(0), counts(10), later);
    fleet.observe(&view(1), counts(9), later);
    assert!(
        !fleet.judge(later),
        "11 of 100 are more than half of the limit"
    );
    fleet.observe(&view(1), counts(10), later);
    assert!(fleet.judge(later));
    assert!(!fleet.is_set());
    assert_eq!(
        totals(&fleet),
        (10, 100),
        "what is still lost goes on counting"
    );
}

#[test]
fn numbers_expire_after_their_time_and_the_caller_forgets_them() {
    let mut fleet = fleet(2);
    fleet.observe(&view(0), counts(9), at(0));
    fleet.observe(&view(0), counts(8), at(60));
    assert!(fleet.expired(at(599)).is_empty());
    assert_eq!(fleet.expired(at(600)), BTreeMap::from([(view(0), at(0))]));
    fleet.forget(&view(0), at(0));
    assert_eq!(totals(&fleet), (1, 19));
    fleet.forget(&view(0), at(60));
    assert_eq!(totals(&fleet), (0, 18));
    assert!(!fleet.has_fallen());
}

#[test]
fn a_release_makes_the_present_numbers_the_reference_also_for_the_next_leader() {
    let mut fleet = fleet(2);
    fleet.observe(&view(0), counts(0), at(1));
    assert!(fleet.judge(at(1)));
    let input = || {
        [(view(0), counts(0))]
            .into_iter()
            .collect::<InstanceCounts>()
    };
    let reference = fleet.reference(&input()).unwrap();
    assert_eq!(reference.number(&view(0), "s"), 10);
    let mut noted = fleet.noted();
    noted.release(at(2));
    fleet.take_release(&noted);
    assert!(!fleet.is_set());
    assert_eq!(totals(&fleet), (0, 10));
    assert_eq!(fleet.reference(&input()), None);
    let mut next = FleetNumbers::new(SETTING, &fleet.noted());
    next.begin_with([[(view(0), counts(10)), (view(1), counts(10))]
        .into_iter()
        .collect()]);
    next.keep_views(&used(2));
    next.observe(&view(0), BTreeMap::new(), at(3));
    next.observe(&view(1), counts(10), at(3));
    assert_eq!(totals(&next), (0, 10));
}

#[test]
fn a_new_leader_begins_with_the_applied_inputs_and_what_another_noted() {
    let mut fleet = fleet(3);
    fleet.observe(&view(0), counts(4), at(1));
    let mut next = FleetNumbers::new(SETTING, &fleet.noted());
    let applied = [
        (view(0), counts(5)),
        (view(1), counts(10)),
        (view(2), counts(10)),
    ];
    next.begin_with([applied.into_iter().collect()]);
    next.keep_views(&used(3));
    assert_eq!(
        totals(&next),
        (6, 30),
        "the noted numbers are newer than the applied ones"
    );
    next.observe(&view(1), counts(9), at(2));
    assert!(next.judge(at(2)));
    assert_eq!(totals(&next), (7, 30));
}

/// Sums and judgement by a slow count of everything that ever was.
#[derive(Debug, Default)]
struct Model {
    /// Each pair: all numbers with the time when they began.
    history: BTreeMap<usize, Vec<(i64, u32)>>,
}

impl Model {
    fn totals(&self, now: i64) -> (u64, u64) {
        let within = i64::try_from(SETTING.within.as_secs()).unwrap();
        let mut totals = (0, 0);
        for numbers in self.history.values() {
            let present = numbers.last().unwrap().1;
            let ends = numbers.iter().skip(1).map(|(begin, _number)| *begin);
            let ended = numbers.iter().zip(ends.map(Some).chain([None]));
            let counting = ended.filter(|(_, end)| end.is_none_or(|end| end + within > now));
            let highest = counting.map(|((_, number), _)| *number).max().unwrap();
            totals.0 += u64::from(highest - present);
            totals.1 += u64::from(highest);
        }
        totals
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_the_highest_numbers_within_the_time(
        steps in prop::collection::vec((0_usize..4, 1_u32..30, 0_i64..400), 1..60),
    ) {
        let setting = FleetMaxShrink { share: 100, ..SETTING };
        let mut fleet = FleetNumbers::new(setting, &NotedFleet::default());
        fleet.keep_views(&used(4));
        let mut model = Model::default();
        let mut now = 0;
        for (number, instances, pause) in steps {
            now += pause;
            loop {
                let expired = fleet.expired(at(now));
                if expired.is_empty() {
                    break;
                }
                for (view, ended) in expired {
                    fleet.forget(&view, ended);
                }
            }
            fleet.observe(&view(number), counts(instances), at(now));
            let history = model.history.entry(number).or_default();
            if history.last().is_none_or(|(_, last)| *last != instances) {
                history.push((now, instances));
            }
            prop_assert_eq!(totals(&fleet), model.totals(now));
            let again = FleetNumbers::new(setting, &fleet.noted());
            prop_assert_eq!(again.totals().lost, fleet.totals().lost);
        }
    }
}
