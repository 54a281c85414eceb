//! Decisions about the settings in force.

use std::time::Duration;

use super::{BlockDigests, Comparison, SettingsGeneration};

/// Time for which settings stay in force after no worker has them any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsTimeouts {
    /// Time before settings that were never in force replace them.
    pub new: Duration,
    /// Time before settings that were in force earlier replace them: a rollback, or a worker with an old
    /// configuration that is temporarily the only worker.
    pub earlier: Duration,
}

impl SettingsTimeouts {
    /// For several workers that are started and stopped one after the other.
    pub const CLUSTER: Self = Self {
        new: Duration::from_secs(15),
        earlier: Duration::from_mins(2),
    };

    /// For a process with the only worker.
    pub const NONE: Self = Self {
        new: Duration::ZERO,
        earlier: Duration::ZERO,
    };
}

/// Decision about the generation in force of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsDecision {
    /// The generation stays.
    Keep,
    /// The generation stays, and has these digests.
    Note(BlockDigests),
    /// The successor replaces the generation, with these digests.
    Replace(Successor, BlockDigests),
    /// No worker has the generation any more; a successor replaces it when its timeout is over.
    Wait,
    /// No worker has the generation any more, and the existing workers differ in these blocks.
    Disagree(Vec<String>),
}

/// Successor of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Successor {
    /// A new generation.
    New,
    /// The generation with this number, which was in force earlier.
    Earlier(u64),
}

/// Decides about the generation in force.
///
/// `earlier` are the generations that were in force earlier. `workers` are the digests of this scope from the workers
/// that live, take runs and report digests. `absent` is the time for which no worker has had `current`.
/// workers that live, take runs and report them. `absent` is how long no worker has had `current`.
pub fn decide_settings(
    current: &SettingsGeneration,
    earlier: &[&SettingsGeneration],
    workers: &[BlockDigests],
    absent: Duration,
    timeouts: SettingsTimeouts,
) -> SettingsDecision {
    let Some((first, others)) = workers.split_first() else {
        return SettingsDecision::Keep;
    };
    let is_current = |worker: &&BlockDigests| worker.compare(&current.digests) == Comparison::Equal;
    let mut having = workers.iter().filter(is_current).peekable();
    if having.peek().is_some() {
        let digests = having.fold(current.digests.clone(), |all, one| all.with_keys_of(one));
        return note(current, digests);
    }
    let mut shared = first.clone();
    for other in others {
        match shared.compare(other) {
            Comparison::Equal => shared = shared.with_keys_of(other),
            Comparison::Different(blocks) => return SettingsDecision::Disagree(blocks),
            Comparison::NoCommonKey => return SettingsDecision::Disagree(Vec::new()),
        }
    }
    if current.digests.is_empty() {
        return note(current, shared);
    }
    let is_over = |timeout: Duration| absent >= timeout;
    if current.digests.compare(&shared) == Comparison::NoCommonKey {
        // Without a common key, no difference of the blocks is proven.
        return if is_over(timeouts.new) {
            SettingsDecision::Note(shared)
        } else {
            SettingsDecision::Wait
        };
    }
    let mut earlier = earlier.iter();
    match earlier.find(|before| before.digests.compare(&shared) == Comparison::Equal) {
        Some(before) if is_over(timeouts.earlier) => SettingsDecision::Replace(
            Successor::Earlier(before.number),
            before.digests.with_keys_of(&shared),
        ),
        None if is_over(timeouts.new) => SettingsDecision::Replace(Successor::New, shared),
        _ => SettingsDecision::Wait,
    }
}

fn note(current: &SettingsGeneration, digests: BlockDigests) -> SettingsDecision {
    if digests == current.digests {
        SettingsDecision::Keep
    } else {
        SettingsDecision::Note(digests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ClusterKey, SettingsBlocks, SettingsScope};

    const TIMEOUTS: SettingsTimeouts = SettingsTimeouts::CLUSTER;

    fn under(keys: &[u8], text: &str) -> BlockDigests {
        let mut blocks = SettingsBlocks::default();
        blocks.insert("backend".to_owned(), vec![text.to_owned()]);
        let keys: Vec<_> = keys
            .iter()
            .map(|&byte| ClusterKey::new([byte; 32]))
            .collect();
        blocks.digests(&keys)
    }

    fn generation(number: u64, digests: BlockDigests) -> SettingsGeneration {
        SettingsGeneration {
            number,
            scope: serde_json::from_str::<SettingsScope>(r#"["backend"]"#).unwrap(),
            digests,
            in_force: true,
        }
    }

    fn decide(workers: &[BlockDigests], absent: u64) -> SettingsDecision {
        let current = generation(2, under(&[1], "two"));
        let earlier = generation(1, under(&[1], "one"));
        let absent = Duration::from_secs(absent);
        decide_settings(&current, &[&earlier], workers, absent, TIMEOUTS)
    }

    #[test]
    fn settings_stay_in_force_as_long_as_a_worker_has_them() {
        let [two, three] = ["two", "three"].map(|text| under(&[1], text));
        assert_eq!(decide(&[], 1000), SettingsDecision::Keep);
        assert_eq!(
            decide(std::slice::from_ref(&two), 1000),
            SettingsDecision::Keep
        );
        assert_eq!(
            decide(&[three.clone(), two, three], 1000),
            SettingsDecision::Keep
        );
    }

    #[test]
    fn settings_that_all_workers_share_take_effect_after_a_while() {
        let three = [under(&[1], "three"), under(&[1], "three")];
        assert_eq!(decide(&three, 14), SettingsDecision::Wait);
        let [digests, _] = three.clone();
        let replaced = SettingsDecision::Replace(Successor::New, digests);
        assert_eq!(decide(&three, 15), replaced);
        let one = [under(&[1], "one")];
        assert_eq!(decide(&one, 119), SettingsDecision::Wait);
        let [digests] = one.clone();
        let back = SettingsDecision::Replace(Successor::Earlier(1), digests);
        assert_eq!(decide(&one, 120), back);
    }

    #[test]
    fn workers_that_do_not_agree_are_waited_for() {
        let workers = ["three", "four"].map(|text| under(&[1], text));
        let disagree = SettingsDecision::Disagree(vec!["backend".to_owned()]);
        assert_eq!(decide(&workers, 1000), disagree);
        let without_key = [under(&[1], "three"), under(&[9], "three")];
        assert_eq!(
            decide(&without_key, 1000),
            SettingsDecision::Disagree(Vec::new())
        );
    }

    #[test]
    fn settings_of_the_first_workers_are_taken_at_once() {
        let open = generation(1, BlockDigests::default());
        let decide = |workers: &[BlockDigests]| {
            decide_settings(&open, &[], workers, Duration::ZERO, TIMEOUTS)
        };
        let one = under(&[1], "one");
        assert_eq!(decide(&[]), SettingsDecision::Keep);
        assert_eq!(
            decide(std::slice::from_ref(&one)),
            SettingsDecision::Note(one.clone())
        );
        let disagree = SettingsDecision::Disagree(vec!["backend".to_owned()]);
        assert_eq!(decide(&[one, under(&[1], "two")]), disagree);
    }

    #[test]
    fn another_key_is_no_change() {
        let rotated = SettingsDecision::Note(under(&[1, 2], "two"));
        assert_eq!(decide(&[under(&[1, 2], "two")], 0), rotated);
        let other_key = [under(&[3], "two")];
        assert_eq!(decide(&other_key, 14), SettingsDecision::Wait);
        let [digests] = other_key.clone();
        assert_eq!(decide(&other_key, 15), SettingsDecision::Note(digests));
    }
}
