//! Losses of most instances of the fleet at once, which set the brake.

use std::time::Duration;

use cts_tests::Service;

use super::catalog::{Change, PLACES, instance};
use super::faults::overlapping;
use super::setup::{MEMBERS, Setup};
use super::target::{Blow, Fault, Member, Target};
use super::{Round, Size};
use crate::random::Random;

/// Percentage of the services that lose their instances.
const LOSERS: u64 = 90;
/// Percentage of these that keep their first instance.
const KEEPERS: u64 = 20;
/// Places whose instances come back.
const BACK: u64 = PLACES - 1;
/// Longest time from a loss to the end of a fault that belongs to it.
const FAULT: Duration = Duration::from_secs(6);

/// Adds losses to a round. A process may be killed right after a loss, and an operator may release the brake some time
/// later. Then most instances come back.
pub(super) fn add(
    random: &mut Random,
    (setup, size): (Setup, Size),
    calms: &[[Duration; 2]],
    round: &mut Round,
) {
    let mut at = Duration::from_millis(random.between(3000, 9000));
    while at < round.length {
        if let Some(until) = overlapping(calms, at, at + FAULT) {
            at = until;
            continue;
        }
        let losers: Vec<usize> = (0..size.services)
            .filter(|_| random.percent(LOSERS))
            .collect();
        for &service in &losers {
            let kept = u64::from(random.percent(KEEPERS));
            let gone = (kept..PLACES).map(|place| Change::Deregister { service, place });
            round.changes.extend(gone.map(|change| (at, change)));
        }
        for member in killed(random, setup) {
            let down_for = Duration::from_millis(random.between(100, 3000));
            round.faults.push(Fault {
                at: at + Duration::from_millis(random.between(0, 2000)),
                target: Target::Member(member),
                blow: Blow::Kill(down_for),
            });
        }
        at += Duration::from_millis(random.between(8000, 18_000));
        if random.percent(40) {
            round.releases.push(at);
            at += Duration::from_millis(random.between(2000, 8000));
        }
        for service in losers {
            for place in 0..BACK {
                let instance = instance(random);
                let back = Change::Register {
                    service,
                    place,
                    instance,
                };
                round.changes.push((at, back));
            }
        }
        at += Duration::from_millis(random.between(12_000, 40_000));
    }
    round.changes.sort_by_key(|(at, _)| *at);
    round.faults.sort_by_key(|fault| fault.at);
}

/// Processes that are killed right after a loss: all schedulers that may be killed, any one process, or none.
fn killed(random: &mut Random, setup: Setup) -> Vec<Member> {
    let choice = random.between(1, 10);
    let (service, count) = random.choose(&MEMBERS);
    let one = Member::Of(service, random.index(count));
    let mut members = setup.members();
    members.retain(|&member| !setup.is_stale(member));
    members.retain(|&member| match (choice, member) {
        (1..=4, Member::Of(service, _)) => service == Service::Scheduler,
        (5..=6, Member::Of(..)) => member == one,
        (1..=5, Member::Whole) => true,
        _ => false,
    });
    members
}
