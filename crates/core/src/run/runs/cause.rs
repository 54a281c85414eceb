//! Causes of runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::run::input_changes::ChangeCounts;
use crate::view::ViewId;
use crate::words::identity::CauseId;

/// Maximum number of causes of one run.
pub const CAUSES_OF_RUN: usize = 16;

/// Maximum number of lines of a cause.
const LINES: usize = 20;

/// Maximum number of changed names that a cause keeps; further names are only counted.
const NAMES: usize = 10_000;

/// Changes in Consul that arrived within one second; without changes, the first comparison of a new leader.
#[derive(Debug)]
pub struct Cause {
    /// Identity.
    pub id: CauseId,
    /// Arrival of the first change.
    pub at: DateTime<Utc>,
    changes: Mutex<Changes>,
}

#[derive(Debug, Default)]
struct Changes {
    /// The numbers of each line, by the view that has changed.
    by_name: BTreeMap<(ViewId, String), [u32; 3]>,
    /// Number of names that are not kept.
    more: usize,
}

impl Cause {
    /// A cause without changes.
    pub fn new(id: CauseId, at: DateTime<Utc>) -> Self {
        Self {
            id,
            at,
            changes: Mutex::default(),
        }
    }

    /// Adds changes of a view.
    pub fn add(&self, view: &ViewId, counts: ChangeCounts) {
        let mut changes = self.changes.lock();
        for (name, numbers) in counts {
            let key = (view.clone(), name);
            if changes.by_name.len() >= NAMES && !changes.by_name.contains_key(&key) {
                changes.more += 1;
                continue;
            }
            let known = changes.by_name.entry(key).or_default();
            for (known, number) in known.iter_mut().zip(numbers) {
                *known = known.saturating_add(number);
            }
        }
    }

    /// The changes as lines such as `web +2 −40`, the largest first: at most 20, the last of which may count the rest.
    pub fn lines(&self) -> Vec<String> {
        let changes = self.changes.lock();
        let lines = changes.by_name.iter().map(|((_view, name), numbers)| {
            let parts = "+−~".chars().zip(numbers).filter(|part| *part.1 > 0);
            let parts: Vec<_> = parts.map(|(sign, n)| format!(" {sign}{n}")).collect();
            let size: u64 = numbers.iter().copied().map(u64::from).sum();
            (Reverse(size), format!("{name}{}", parts.concat()))
        });
        // Two views may have the same instances.
        let lines: BTreeSet<_> = lines.collect();
        let mut lines: Vec<String> = lines.into_iter().map(|(_size, line)| line).collect();
        if lines.is_empty() {
            lines.push("since the last applied input".to_owned());
        } else if lines.len() > LINES {
            let more = lines.split_off(LINES - 1).len() + changes.more;
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Adds causes to those of a run: sorted, each once, at most 16, the newest.
pub fn add_causes(to: &mut Vec<CauseId>, causes: impl IntoIterator<Item = CauseId>) {
    to.extend(causes);
    to.sort_unstable();
    to.dedup();
    to.drain(..to.len().saturating_sub(CAUSES_OF_RUN));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_counts(counts: impl IntoIterator<Item = (String, [u32; 3])>) -> Vec<String> {
        let cause = Cause::new(CauseId::from_uuid(uuid::Uuid::nil()), DateTime::UNIX_EPOCH);
        let counts: ChangeCounts = counts.into_iter().collect();
        // Two views have the same instances.
        for view in ["one", "two"] {
            cause.add(&ViewId::new(view), counts.clone());
        }
        cause.lines()
    }

    #[test]
    fn the_largest_changes_come_first_and_the_rest_is_counted() {
        let few = [("api", [0, 12, 0]), ("web", [0, 40, 0]), ("db", [2, 1, 1])];
        let few = few.map(|(name, numbers)| (name.to_owned(), numbers));
        assert_eq!(of_counts(few), ["web −40", "api −12", "db +2 −1 ~1"]);
        let many = |end| (10..end).map(|n| (format!("s{n}"), [1, 0, 0]));
        let lines = of_counts(many(36));
        assert_eq!((lines.len(), &*lines[19]), (20, "and 7 more"));
        assert_eq!(of_counts(many(30)).last().unwrap(), "s29 +1");
        assert_eq!(of_counts([]), ["since the last applied input"]);
    }

    #[test]
    fn names_beyond_ten_thousand_are_only_counted() {
        let cause = Cause::new(CauseId::from_uuid(uuid::Uuid::nil()), DateTime::UNIX_EPOCH);
        let counts = (0..10_100).map(|n| (format!("s{n:05}"), [1, 0, 0]));
        cause.add(&ViewId::new("one"), counts.collect());
        let first = [("s00000".to_owned(), [1, 0, 0])];
        cause.add(&ViewId::new("one"), first.into());
        let lines = cause.lines();
        assert_eq!((&*lines[0], &*lines[19]), ("s00000 +2", "and 10081 more"));
    }
}
