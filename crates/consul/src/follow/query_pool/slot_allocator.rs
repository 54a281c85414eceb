//! Decides which queries are held open when the queries outnumber the connections, without IO.
//!
//! Holders are the members that change most often: the rank of a member is the time of its last change but one, so that
//! a single change gives no slot. The other members are read again when something has changed. A holder gives up its
//! slot only between two requests: Consul (1.8) keeps a held query, and counts its connection, after the client has
//! gone.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Names a member.
pub(super) type MemberId = u64;

/// A member without a slot takes the slot of a holder whose rank is lower by this time, so that members do not swap all
/// the time.
const MARGIN: Duration = Duration::from_secs(1);

/// How often a member changes: the times of its last change but one, and of its last change, since a fixed moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(Duration, Duration);

#[derive(Debug)]
struct Member {
    rank: Rank,
    holds: bool,
    /// The member cannot be read on demand, so it holds a slot whatever the number of slots.
    fixed: bool,
}

/// Result for a holder between two requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// The holder keeps its slot.
    GoesOn,
    /// The holder loses its slot, which may have gone to this member.
    MakesRoom(Option<MemberId>),
}

/// Members and slots.
#[derive(Debug)]
pub(super) struct SlotAllocator {
    slots: usize,
    members: HashMap<MemberId, Member>,
    fixed: usize,
    holders: BTreeSet<(Rank, MemberId)>,
    others: BTreeSet<(Rank, MemberId)>,
}

impl SlotAllocator {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            members: HashMap::new(),
            fixed: 0,
            holders: BTreeSet::new(),
            others: BTreeSet::new(),
        }
    }

    pub(super) fn rank(&self, id: MemberId) -> Rank {
        self.members
            .get(&id)
            .map_or_else(Rank::default, |member| member.rank)
    }

    /// Adds a member. A fixed member holds a slot at once; [`SlotAllocator::settle`] gives free slots to the other
    /// members.
    pub(super) fn join(&mut self, id: MemberId, fixed: bool) {
        let member = Member {
            rank: Rank::default(),
            holds: fixed,
            fixed,
        };
        if fixed {
            self.fixed += 1;
        } else {
            self.others.insert((member.rank, id));
        }
        self.members.insert(id, member);
    }

    pub(super) fn leave(&mut self, id: MemberId) {
        if let Some(member) = self.members.remove(&id) {
            self.fixed -= usize::from(member.fixed);
            self.holders.remove(&(member.rank, id));
            self.others.remove(&(member.rank, id));
        }
    }

    /// Notes that a member has changed.
    pub(super) fn changed(&mut self, id: MemberId, now: Duration) {
        let Some(member) = self.members.get_mut(&id) else {
            return;
        };
        let before = member.rank;
        member.rank = Rank(before.1, now);
        if member.fixed {
            return;
        }
        let set = if member.holds {
            &mut self.holders
        } else {
            &mut self.others
        };
        set.remove(&(before, id));
        set.insert((member.rank, id));
    }

    /// A holder is between two requests. If the member has to make room, returns the member that gets the slot.
    pub(super) fn renew(&mut self, id: MemberId) -> Renewal {
        let Some(member) = self.members.get(&id) else {
            return Renewal::GoesOn;
        };
        if !member.holds || member.fixed {
            return Renewal::GoesOn;
        }
        if self.holders.len() > self.free() {
            self.set_holds(id, false);
            return Renewal::MakesRoom(None);
        }
        match self.others.last() {
            Some(&(rank, other)) if rank.0 > member.rank.0 + MARGIN => {
                self.set_holds(id, false);
                self.set_holds(other, true);
                Renewal::MakesRoom(Some(other))
            }
            _ => Renewal::GoesOn,
        }
    }

    /// Sets the number of slots. Returns the members that got a free slot.
    pub(super) fn settle(&mut self, slots: usize) -> Vec<MemberId> {
        self.slots = slots;
        let mut promoted = Vec::new();
        while self.holders.len() < self.free() {
            let Some(&(_rank, id)) = self.others.last() else {
                break;
            };
            self.set_holds(id, true);
            promoted.push(id);
        }
        promoted
    }

    /// Members whose queries are held open.
    pub(super) fn holding(&self) -> usize {
        self.holders.len() + self.fixed
    }

    /// Whether some members have no slot.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    fn free(&self) -> usize {
        self.slots.saturating_sub(self.fixed)
    }

    fn set_holds(&mut self, id: MemberId, holds: bool) {
        let Some(member) = self.members.get_mut(&id) else {
            return;
        };
        member.holds = holds;
        let (from, to) = if holds {
            (&mut self.others, &mut self.holders)
        } else {
            (&mut self.holders, &mut self.others)
        };
        from.remove(&(member.rank, id));
        to.insert((member.rank, id));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn of(members: u64, slots: usize) -> SlotAllocator {
        let mut allocator = SlotAllocator::new(0);
        for id in 0..members {
            allocator.join(id, false);
        }
        allocator.settle(slots);
        allocator
    }

    fn holders(allocator: &SlotAllocator) -> Vec<MemberId> {
        let mut ids: Vec<_> = allocator.holders.iter().map(|(_rank, id)| *id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn queries_that_change_often_get_the_slots() {
        let mut allocator = of(10, 2);
        for now in 1..20 {
            for id in [3, 7] {
                allocator.changed(id, at(now));
            }
            // Each of the others changes once.
            allocator.changed(now % 10, at(now));
            for id in holders(&allocator) {
                allocator.renew(id);
            }
        }
        assert_eq!(holders(&allocator), [3, 7]);
    }

    #[test]
    fn a_single_change_gives_no_slot_and_a_holder_goes_only_between_two_requests() {
        let mut allocator = of(3, 2);
        let before = holders(&allocator);
        let other = (0..3).find(|id| !before.contains(id)).unwrap();
        allocator.changed(other, at(100));
        assert_eq!(allocator.renew(before[0]), Renewal::GoesOn);
        allocator.changed(other, at(200));
        assert_eq!(holders(&allocator), before);
        assert_eq!(allocator.renew(before[0]), Renewal::MakesRoom(Some(other)));
        assert_eq!(allocator.renew(before[1]), Renewal::GoesOn);
    }

    #[test]
    fn slots_come_and_go_and_what_is_fixed_stays() {
        let mut allocator = of(4, 2);
        allocator.join(9, true);
        assert!(allocator.settle(2).is_empty());
        let first = holders(&allocator)[0];
        assert_eq!(allocator.renew(first), Renewal::MakesRoom(None));
        assert_eq!(allocator.renew(9), Renewal::GoesOn);
        assert_eq!(holders(&allocator).len(), 1);
        assert_eq!(allocator.settle(100).len(), 3);
        assert!(!allocator.has_others());
        allocator.leave(9);
        allocator.settle(0);
        assert_eq!(holders(&allocator).len(), 4);
    }

    proptest! {
        #[test]
        fn slots_stay_in_use_and_surplus_holders_make_room(
            steps in prop::collection::vec((0..5_u8, 0..12_u64, 0..6_usize), 0..80),
        ) {
            let mut allocator = SlotAllocator::new(0);
            let mut holding = std::collections::BTreeSet::new();
            let mut now = Duration::ZERO;
            let mut slots = 0;
            for (step, id, count) in steps {
                now += Duration::from_secs(1);
                match step {
                    0 if !allocator.members.contains_key(&id) => allocator.join(id, false),
                    1 => {
                        allocator.leave(id);
                        holding.remove(&id);
                    }
                    2 => slots = count,
                    3 => allocator.changed(id, now),
                    _ => for id in holders(&allocator) {
                        if let Renewal::MakesRoom(other) = allocator.renew(id) {
                            prop_assert!(holding.remove(&id));
                            holding.extend(other);
                        }
                    },
                }
                holding.extend(allocator.settle(slots));
                prop_assert!(holding.len() >= slots.min(allocator.members.len()));
                prop_assert_eq!(holders(&allocator), holding.iter().copied().collect::<Vec<_>>());
            }
            for id in holders(&allocator) {
                allocator.renew(id);
            }
            prop_assert!(holders(&allocator).len() <= slots);
        }
    }
}
