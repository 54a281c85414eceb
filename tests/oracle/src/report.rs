//! Counts, and the differences grouped by cause with their smallest example.

use std::collections::BTreeMap;
use std::fmt;

use crate::compare::{Difference, Verdict};
use crate::deliberate::deliberate;

/// Examples of one cause that are made small: the first ones do.
const EXAMPLES: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Report {
    accepted: u64,
    refused: u64,
    skipped: u64,
    deliberate: BTreeMap<&'static str, u64>,
    unexplained: BTreeMap<Difference, Group>,
}

#[derive(Debug, Default)]
struct Group {
    count: usize,
    smallest: Vec<u8>,
}

impl Report {
    pub(crate) fn is_clean(&self) -> bool {
        self.unexplained.is_empty()
    }

    pub(crate) fn skipped(&mut self) {
        self.skipped += 1;
    }

    /// Counts a document without a difference.
    pub(crate) fn agreed(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Accepted => self.accepted += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::LeftOut | Verdict::Differs(_) => self.skipped += 1,
        }
    }

    /// Whether it is worth while to make the document small.
    pub(crate) fn wants_example(&self, difference: &Difference, document: &[u8]) -> bool {
        let group = self.unexplained.get(difference);
        deliberate(difference, document).is_none()
            && group.is_none_or(|group| group.count < EXAMPLES)
    }

    pub(crate) fn differed(&mut self, difference: Difference, document: Vec<u8>) {
        if let Some(reason) = deliberate(&difference, &document) {
            *self.deliberate.entry(reason).or_default() += 1;
            return;
        }
        let group = self.unexplained.entry(difference).or_default();
        if group.count == 0 || (group.count < EXAMPLES && document.len() < group.smallest.len()) {
            group.smallest = document;
        }
        group.count += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (difference, group) in &self.unexplained {
            writeln!(
                f,
                "{:?}: {} ({} times), for instance:\n    \"{}\"",
                difference.kind,
                difference.cause,
                group.count,
                group.smallest.escape_ascii()
            )?;
        }
        let deliberate: u64 = self.deliberate.values().sum();
        for (reason, count) in &self.deliberate {
            writeln!(f, "meant to differ: {reason} ({count} times)")?;
        }
        let groups = self.unexplained.values();
        let unexplained: usize = groups.map(|group| group.count).sum();
        write!(
            f,
            "accepted by both: {}; refused by both: {}; meant to differ: {deliberate}; \
             left out (JSON, too deep): {}; other differences: {unexplained}",
            self.accepted, self.refused, self.skipped
        )
    }
}
