//! Losses that a task may have, and the effect of a release.

use proptest::prelude::*;

use super::*;
use crate::task::shrink_limit::{InvalidMaxShrink, MaxShrink};

fn in_view(view: &str, services: &[(&str, u32)]) -> InstanceCounts {
    let services = services.iter();
    let services = services.map(|(name, count)| ((*name).to_owned(), *count));
    [(ViewId::new(view), services.collect())]
        .into_iter()
        .collect()
}

fn counts(services: &[(&str, u32)]) -> InstanceCounts {
    in_view("v", services)
}

fn applied(counts: InstanceCounts) -> Baseline {
    Baseline {
        applied: Some(counts),
        ..Baseline::default()
    }
}

fn web(count: u32) -> InstanceCounts {
    counts(&[("web", count)])
}

fn holds(guard: ShrinkLimit, before: u32, now: u32) -> bool {
    let losses = applied(web(before)).losses(guard, &web(now));
    !losses.is_empty()
}

fn min(instances: u32) -> ShrinkLimit {
    ShrinkLimit {
        min_instances: Some(instances),
        ..ShrinkLimit::default()
    }
}

fn max(text: &str) -> ShrinkLimit {
    ShrinkLimit {
        max_shrink: Some(text.parse().unwrap()),
        ..ShrinkLimit::default()
    }
}

#[test]
fn limit_is_a_number_a_percentage_or_a_minimum() {
    for (guard, applied, now, held) in [
        (max("50%"), 10, 5, false),
        (max("50%"), 10, 4, true),
        (max("50%"), 1, 0, true),
        (max("0%"), 10, 9, true),
        (max("100%"), 10, 0, false),
        (max("2"), 10, 8, false),
        (max("2"), 10, 7, true),
        (max("0"), 10, 9, true),
        (min(3), 10, 3, false),
        (min(3), 10, 2, true),
        (min(3), 2, 2, false),
        (min(3), 2, 1, true),
        (min(3), 0, 2, false),
        (min(3), 1, 2, false),
        (ShrinkLimit::default(), 10, 0, false),
    ] {
        assert_eq!(
            holds(guard, applied, now),
            held,
            "{guard:?} {applied} {now}"
        );
    }
}

#[test]
fn each_service_is_looked_at_and_a_view_that_is_not_watched_any_more_is_not() {
    let applied = applied(counts(&[("api", 4), ("db", 2), ("web", 9)]));
    let now = counts(&[("db", 2), ("web", 4), ("new", 1)]);
    let losses = applied.losses(max("50%"), &now);
    let text: Vec<_> = losses.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "api has 0 of the 4 instances that were applied last",
            "web has 4 of the 9 instances that were applied last",
        ]
    );
    let text_of_all = losses_text(&losses).unwrap();
    assert_eq!(
        text_of_all,
        "web has 4 of the 9 instances that were applied last (and 1 more)"
    );
    assert_eq!(losses_text(&losses[..1]).unwrap(), text[0]);
    assert_eq!(losses_text(&[]), None);
    let nothing = InstanceCounts::default();
    assert_eq!(applied.losses(max("50%"), &nothing), []);
    let elsewhere = in_view("w", &[]);
    assert_eq!(applied.losses(max("50%"), &elsewhere), []);
}

fn blocked(baseline: &Baseline, guard: ShrinkLimit, now: u32) -> Blocked {
    Blocked {
        since: DateTime::default(),
        losses: baseline.losses(guard, &web(now)),
        counts: web(now),
        brake: None,
        causes: Vec::new(),
    }
}

#[test]
fn losses_count_against_the_applied_and_the_running_input() {
    let baseline = |applied, running| Baseline {
        applied: Some(web(applied)),
        running: Some(web(running)),
        released: None,
    };
    let lost = |baseline: Baseline, now| {
        let losses = baseline.losses(max("50%"), &web(now)).into_iter();
        losses.map(|loss| loss.applied).collect::<Vec<_>>()
    };
    assert_eq!(lost(baseline(8, 7), 4), [0; 0]);
    assert_eq!(lost(baseline(8, 7), 3), [8]);
    assert_eq!(
        lost(baseline(8, 4), 2),
        [8],
        "small steps, none of them applied"
    );
    assert_eq!(lost(baseline(4, 10), 4), [10]);
    assert_eq!(lost(baseline(9, 10), 1), [10], "the most");
}

#[test]
fn a_release_lasts_until_what_ran_before_it_is_past() {
    let guard = max("50%");
    let before = Baseline {
        applied: Some(web(8)),
        running: Some(web(7)),
        released: None,
    };
    let released = before.clone().release(&blocked(&before, guard, 1));
    assert_eq!(released.applied, Some(web(1)));
    assert_eq!(released.losses(guard, &web(1)), []);
    assert_eq!(released.losses(guard, &web(2)), []);
    assert_eq!(
        released.losses(guard, &web(0)).len(),
        1,
        "it was for what was held"
    );
    // The running run succeeds, and the release is still needed.
    let after = Baseline {
        applied: Some(web(7)),
        running: None,
        released: released.let_through(guard, &web(1)),
    };
    assert_eq!(after.losses(guard, &web(1)), []);
    assert_eq!(after.settled(guard), Some(web(1)));
    // Then the released input is applied.
    let applied = Baseline {
        applied: Some(web(1)),
        ..after.clone()
    };
    assert_eq!(applied.settled(guard), None);
    // If the instances return first, a later loss is a new loss.
    assert_eq!(after.let_through(guard, &web(7)), None);
    // A release does not cover losses of other services.
    let two = |web, api| counts(&[("web", web), ("api", api)]);
    let both = Baseline {
        applied: Some(two(8, 8)),
        ..applied
    };
    let held = Blocked {
        since: DateTime::default(),
        losses: both.losses(guard, &two(1, 8)),
        counts: two(1, 8),
        brake: None,
        causes: Vec::new(),
    };
    let losses = both.release(&held).losses(guard, &two(1, 3));
    assert_eq!(losses.len(), 1);
    assert_eq!(losses[0].service, "api");
}

#[test]
fn seen_losses_are_compared_by_service() {
    let loss = |service: &str, now| Loss {
        service: service.to_owned(),
        applied: 9,
        now,
    };
    let blocked = |losses: &[Loss]| Blocked {
        since: DateTime::default(),
        losses: losses.to_vec(),
        counts: InstanceCounts::default(),
        brake: None,
        causes: Vec::new(),
    };
    let held = blocked(&[loss("web", 3), loss("api", 1)]);
    assert!(held.is_within(&[loss("api", 1), loss("web", 3)]));
    assert!(held.is_within(&[loss("api", 0), loss("web", 2), loss("db", 0)]));
    assert!(
        !held.is_within(&[loss("api", 1), loss("web", 4)]),
        "more is lost"
    );
    assert!(!held.is_within(&[loss("web", 3)]), "another service");
    assert!(!held.is_within(&[]));
    let views = blocked(&[loss("web", 3), loss("web", 1)]);
    assert!(views.is_within(&[loss("web", 1), loss("web", 3)]));
    assert!(!views.is_within(&[loss("web", 1)]));
}

fn counted(blocked: &Blocked) -> Option<u32> {
    let services = blocked.counts.0.values().next()?;
    Some(services.get("web").copied().unwrap_or_default())
}

/// A step in the life of a task.
#[derive(Debug, Clone)]
enum Happens {
    Seen(u32),
    Leased,
    Applied,
    Failed,
    Retried,
    Released,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0_u32..12).prop_map(Happens::Seen),
        3 => Just(Happens::Leased),
        2 => Just(Happens::Applied),
        2 => Just(Happens::Failed),
        2 => Just(Happens::Retried),
        1 => Just(Happens::Released),
    ]
}

#[test]
fn refuses_invalid_limits() {
    for text in [
        "",
        "%",
        "-1",
        "101%",
        "5.5",
        "1.5%",
        "half",
        "+3",
        " 3",
        "50 %",
        "99999999999",
    ] {
        assert_eq!(text.parse::<MaxShrink>(), Err(InvalidMaxShrink), "{text:?}");
    }
    for text in ["0", "3", "0%", "100%"] {
        assert_eq!(text.parse::<MaxShrink>().unwrap().to_string(), text);
    }
}

proptest! {
    /// No order of applies and failures gets past the limit.
    ///
    /// An applied input has lost no more than allowed compared with the last applied input, unless an operator
    /// released it, and a blocked input continues once no loss forbids it.
    #[test]
    fn no_order_of_attempts_walks_past_the_limit(
        percent in 0_u8..=100, first in 0_u32..12, steps in proptest::collection::vec(happens(), 0..40),
    ) {
        let guard = max(&format!("{percent}%"));
        let mut last = first;
        let mut least_released: Option<u32> = None;
        let mut baseline = applied(web(first));
        let (mut queued, mut running, mut held): (Option<u32>, Option<u32>, Option<Blocked>) = (None, None, None);
        for step in steps {
            let mut look = None;
            match step {
                Happens::Seen(now) => look = Some(now),
                Happens::Leased => if running.is_none() && let Some(input) = queued.take() {
                    running = Some(input);
                    baseline.running = Some(web(input));
                },
                Happens::Applied => if let Some(input) = running.take() {
                    let permitted = !guard.forbids(last, input)
                        || least_released.is_some_and(|released| !guard.forbids(released, input));
                    prop_assert!(permitted, "{} of {}", input, last);
                    if least_released.is_some_and(|released| input <= released) {
                        least_released = None;
                    }
                    last = input;
                    (baseline.applied, baseline.running) = (Some(web(input)), None);
                    baseline.released = baseline.settled(guard);
                    held = held.and_then(|blocked| blocked.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&blocked)).ok());
                },
                Happens::Failed => if running.take().is_some() {
                    baseline.running = None;
                    baseline.released = baseline.settled(guard);
                    held = held.and_then(|blocked| blocked.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&blocked)).ok());
                },
                Happens::Retried => if let Some(input) = running.take() {
                    queued = queued.or(Some(input));
                    baseline.running = None;
                    baseline.released = baseline.settled(guard);
                    held = held.and_then(|blocked| blocked.again(guard, &baseline).ok_or(()).map_err(|()| look = counted(&blocked)).ok());
                },
                Happens::Released => if let Some(blocked) = held.take() {
                    look = counted(&blocked);
                    least_released = look.into_iter().chain(least_released).min();
                    baseline = baseline.release(&blocked);
                },
            }
            if let Some(now) = look {
                let looked = blocked(&baseline, guard, now);
                if looked.losses.is_empty() {
                    baseline.released = baseline.let_through(guard, &web(now));
                    queued = Some(now);
                    held = None;
                } else {
                    held = Some(looked);
                }
            }
            let is_free = held.as_ref().is_none_or(|blocked| blocked.again(guard, &baseline).is_some());
            prop_assert!(is_free, "what is held is held for a reason");
        }
    }

    #[test]
    fn blocks_only_losses_and_every_loss_above_a_blocked_one(
        min_instances in proptest::option::of(0_u32..12),
        percent in proptest::option::of(0_u8..=100),
        applied in 0_u32..12,
        now in 0_u32..12,
    ) {
        let guard = ShrinkLimit { min_instances, max_shrink: percent.map(MaxShrink::Percent) };
        if now >= applied {
            prop_assert!(!holds(guard, applied, now));
        } else if holds(guard, applied, now) && now > 0 {
            prop_assert!(holds(guard, applied, now - 1));
        }
        prop_assert!(!holds(guard, now, now), "what was released is applied");
    }

    #[test]
    fn a_guard_is_stored_and_read(min in proptest::option::of(any::<u32>()), most in any::<u32>()) {
        let guard = ShrinkLimit { min_instances: min, max_shrink: Some(MaxShrink::Instances(most)) };
        let stored = serde_json::to_string(&guard).unwrap();
        prop_assert_eq!(serde_json::from_str::<ShrinkLimit>(&stored).unwrap(), guard);
    }
}
