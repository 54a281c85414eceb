//! Entries of a timeline, with idle time folded.

use chrono::{DateTime, TimeDelta, Utc};

use crate::time::{Millis, Time};

/// Shorter times without an entry are not idle time.
const IDLE: TimeDelta = TimeDelta::minutes(1);

/// Something that happened, or that is so now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// `None` for what is so now.
    pub(super) at: Option<DateTime<Utc>>,
    /// The event in one word, such as `queued`.
    pub(super) word: &'static str,
    /// Texts of other programs about it.
    pub(super) lines: Vec<&'a str>,
    /// Text of this program about it.
    pub(super) note: String,
    pub(super) until: Option<DateTime<Utc>>,
    /// The run that it is about.
    pub(super) run: Option<&'a str>,
    pub(super) causes: &'a [String],
    /// Nothing came of it.
    pub(super) idle: bool,
    /// A run, or its way to the queue, begins with it.
    pub(super) begins: bool,
}

impl Entry<'_> {
    pub(super) fn time(&self) -> Option<Time> {
        self.at.map(Time)
    }

    pub(super) fn end(&self) -> Option<Time> {
        self.until.map(Time)
    }
}

/// An entry, or idle time.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Entry(Entry<'a>),
    /// A time in which nothing ran, with its length if it has ended, and entries of which nothing came.
    Idle {
        length: Option<Millis>,
        from: Option<Time>,
        entries: Vec<Entry<'a>>,
    },
}

/// Entries in the order of their times, with idle time folded; those without a time come last.
pub(super) fn fold(mut entries: Vec<Entry<'_>>) -> Vec<Item<'_>> {
    entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
    let mut items = Vec::new();
    let mut idle = Vec::new();
    let mut last: Option<DateTime<Utc>> = None;
    for entry in entries {
        if entry.idle {
            idle.push(entry);
            continue;
        }
        let gap = last.zip(entry.at).map(|(last, at)| at - last);
        let is_long = entry.begins && gap.is_some_and(|gap| gap >= IDLE);
        if is_long || !idle.is_empty() {
            let length = gap.and_then(|gap| u64::try_from(gap.num_milliseconds()).ok());
            items.push(Item::Idle {
                length: length.map(Millis),
                from: last.map(Time),
                entries: std::mem::take(&mut idle),
            });
        }
        last = entry.at.max(last);
        items.push(Item::Entry(entry));
    }
    if !idle.is_empty() {
        items.push(Item::Idle {
            length: None,
            from: last.map(Time),
            entries: idle,
        });
    }
    items
}
