use proptest::prelude::*;

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn hurried(now: Duration, gone_at: Duration) -> StopSequence {
    let mut course = StopSequence::new(StopPolicy::default());
    course.hurry(now, gone_at);
    course
}

#[test]
fn a_stop_with_time_follows_the_policy() {
    let course = StopSequence::new(StopPolicy::default());
    assert_eq!(course.due(Duration::ZERO), StopStep::Interrupt);
    assert_eq!(course.next(Duration::ZERO), Some(seconds(30)));
    assert_eq!(course.due(seconds(30)), StopStep::Terminate);
    assert_eq!(course.next(seconds(30)), Some(seconds(35)));
    assert_eq!(course.due(seconds(35)), StopStep::Kill);
    assert_eq!(course.next(seconds(35)), None);
    assert_eq!(hurried(Duration::ZERO, seconds(36)), course);
}

#[test]
fn a_short_time_is_divided_like_the_graces() {
    // Half a second is kept for the end, the rest is seven parts.
    let course = hurried(Duration::ZERO, Duration::from_millis(14_500));
    assert_eq!(course.next(Duration::ZERO), Some(seconds(12)));
    assert_eq!(course.next(seconds(12)), Some(seconds(14)));
    assert_eq!(course.due(seconds(14)), StopStep::Kill);
}

#[test]
fn keeps_a_tenth_of_a_very_short_time_for_the_end() {
    let course = hurried(Duration::ZERO, seconds(1));
    assert_eq!(
        course.next(Duration::from_millis(899)),
        Some(Duration::from_millis(900))
    );
}

#[test]
fn no_time_is_a_kill_at_once() {
    let course = hurried(seconds(3), seconds(3));
    assert_eq!(course.due(seconds(3)), StopStep::Kill);
    assert_eq!(
        hurried(seconds(3), seconds(1)).due(seconds(3)),
        StopStep::Kill
    );
}

#[test]
fn a_deadline_in_the_middle_leaves_what_was_already_earlier() {
    let course = hurried(seconds(25), seconds(35));
    assert_eq!(course.next(seconds(25)), Some(seconds(30)));
    assert_eq!(
        course.next(seconds(30)),
        Some(Duration::from_millis(34_500))
    );
}

#[test]
fn the_earliest_moment_counts_whatever_comes_after_it() {
    let order = StopSignal::new(StopPolicy::default());
    let now = Instant::now();
    assert!(!order.is_cancelled());
    order.kill_by(now + seconds(10));
    assert!(order.is_cancelled());
    order.kill_by(now + seconds(20));
    assert_eq!(order.terms().borrow().kill_by, Some(now + seconds(10)));
    let clone = order.clone();
    clone.kill_by(now + seconds(5));
    assert_eq!(order.terms().borrow().kill_by, Some(now + seconds(5)));
}

#[test]
fn an_order_obeys_its_parent_and_not_the_other_way_round() {
    let parent = CancellationToken::new();
    let first = StopSignal::child_of(&parent, StopPolicy::default());
    let second = StopSignal::child_of(&parent, StopPolicy::default());
    first.kill_by(Instant::now());
    assert!(!parent.is_cancelled());
    assert!(!second.is_cancelled());
    assert_eq!(second.terms().borrow().kill_by, None);
    parent.cancel();
    assert!(second.is_cancelled());
}

proptest! {
    #[test]
    fn a_hurried_stop_has_all_its_steps_before_the_moment(
        interrupt in 0_u64..60_000,
        terminate in 0_u64..60_000,
        hurries in proptest::collection::vec((0_u64..60_000, 0_u64..120_000), 1..5),
    ) {
        let policy = StopPolicy {
            interrupt_grace: Duration::from_millis(interrupt),
            terminate_grace: Duration::from_millis(terminate),
        };
        let mut course = StopSequence::new(policy);
        let mut now = Duration::ZERO;
        for (pause, gone_at) in hurries {
            let before = course;
            now += Duration::from_millis(pause);
            let gone_at = Duration::from_millis(gone_at);
            course.hurry(now, gone_at);
            // Never slower, never after the moment, and a step that has time is never skipped.
            prop_assert!(course.terminate_at <= before.terminate_at);
            prop_assert!(course.kill_at <= before.kill_at);
            prop_assert!(course.terminate_at <= course.kill_at);
            prop_assert!(course.kill_at <= gone_at.max(now));
            prop_assert!(course.kill_at.saturating_sub(course.terminate_at) <= policy.terminate_grace
                + Duration::from_micros(1));
            // Repeating a call with the same moment changes nothing.
            let mut again = course;
            again.hurry(now + Duration::from_millis(1), gone_at.max(now + Duration::from_secs(1)));
            if gone_at > now + Duration::from_secs(1) {
                prop_assert_eq!(again.kill_at, course.kill_at);
            }
        }
    }
}

#[test]
fn a_patient_stop_interrupts_until_something_makes_it_faster() {
    let begun = Instant::now();
    let patient = StopTerms {
        patient: true,
        ..StopTerms::default()
    };
    let mut course = StopSequence::patient(StopPolicy::default());
    for now in [0, 60, 24 * 3600] {
        course.follow(patient, begun, seconds(now));
        assert!(course.is_patient());
        assert_eq!(course.due(seconds(now)), StopStep::Interrupt);
    }
    let mut by_policy = course;
    by_policy.follow(StopTerms::default(), begun, seconds(100));
    assert_eq!(by_policy.due(seconds(129)), StopStep::Interrupt);
    assert_eq!(by_policy.due(seconds(130)), StopStep::Terminate);
    assert_eq!(by_policy.due(seconds(135)), StopStep::Kill);
    let mut forced = course;
    let terms = StopTerms {
        terminate_at: Some(begun + seconds(100)),
        ..StopTerms::default()
    };
    for now in [100, 104] {
        forced.follow(terms, begun, seconds(now));
        assert_eq!(forced.due(seconds(now)), StopStep::Terminate);
    }
    assert_eq!(forced.due(seconds(105)), StopStep::Kill);
    let lost = StopTerms {
        kill_by: Some(begun + seconds(115)),
        ..patient
    };
    course.follow(lost, begun, seconds(100));
    assert_eq!(course.due(seconds(115)), StopStep::Kill);
}

#[test]
fn an_interrupt_is_patient_only_where_nothing_was_ordered_before() {
    let order = StopSignal::new(StopPolicy::default());
    order.interrupt();
    assert!(order.is_cancelled() && order.terms().borrow().patient);
    order.cancel();
    assert!(!order.terms().borrow().patient);
    order.interrupt();
    assert!(!order.terms().borrow().patient);
    let forced = StopSignal::new(StopPolicy::default());
    forced.interrupt();
    forced.terminate();
    let terms = *forced.terms().borrow();
    assert!(terms.terminate_at.is_some() && !terms.patient);
}
