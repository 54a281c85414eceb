//! The changes that have triggered a task since its input was frozen last.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::CHANGES_NOTED;
use cts_core::{MOST_LINKS, TraceContext};

/// Why a task is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// When the first change triggered it.
    pub(crate) since: Duration,
    /// The spans of the changes, the oldest first; at most [`MOST_LINKS`] plus one.
    pub(crate) changes: Vec<TraceContext>,
    /// Descriptions of the changes, the oldest first; at most [`CHANGES_NOTED`].
    pub(crate) lines: Vec<Arc<str>>,
    /// Number of further descriptions.
    pub(crate) more_lines: u32,
}

impl Cause {
    /// A trigger without changes so far.
    pub(super) const fn since(since: Duration) -> Self {
        Self {
            since,
            changes: Vec::new(),
            lines: Vec::new(),
            more_lines: 0,
        }
    }

    /// Adds the span of a change.
    pub(super) fn note(&mut self, change: TraceContext) {
        if self.changes.len() <= MOST_LINKS && !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Adds the description of a change.
    pub(super) fn describe(&mut self, lines: &[Arc<str>]) {
        let room = CHANGES_NOTED.saturating_sub(self.lines.len());
        self.lines.extend(lines.iter().take(room).cloned());
        let more = lines.len().saturating_sub(room);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        self.more_lines = self.more_lines.saturating_add(more);
    }

    /// Adds a later cause.
    pub(crate) fn merge(&mut self, later: Self) {
        for change in later.changes {
            self.note(change);
        }
        self.describe(&later.lines);
        self.more_lines = self.more_lines.saturating_add(later.more_lines);
    }
}

#[cfg(test)]
mod tests {
    use cts_core::{SpanId, TraceId};

    use super::*;

    #[test]
    fn the_oldest_changes_are_kept_once_each() {
        let change = |span| TraceContext {
            trace: TraceId::new(1).unwrap(),
            span: SpanId::new(span).unwrap(),
        };
        let mut cause = Cause::since(Duration::from_secs(1));
        let mut later = Cause::since(Duration::from_secs(2));
        cause.note(change(1));
        for span in 1..100 {
            later.note(change(span));
            cause.merge(later.clone());
        }
        assert_eq!(cause.since, Duration::from_secs(1));
        let expected: Vec<_> = (1..).take(MOST_LINKS + 1).map(change).collect();
        assert_eq!(cause.changes, expected);
    }
}
