//! Facts from heartbeats, and the reports that the next heartbeats have to make.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

/// An attempt that begins this soon after a report may have been granted before the report: the journal is reported
/// again.
pub(super) const GRANTED_BEFORE: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct JournalProgress {
    /// The time by the database's clock, and a moment at or before that time.
    pub(super) clock: Option<(DateTime<Utc>, Instant)>,
    /// Attempts that are among the entries.
    pub(super) begun: u64,
    /// The timeline for which the journal was reported last, and when.
    pub(super) reported: Option<(String, Instant)>,
    /// The start of a leader for which the attempts were sent last.
    pub(super) compared: Option<String>,
}

impl JournalProgress {
    /// The time by the database's clock, if a scheduler has reported it.
    pub(super) fn database_time(&self, now: Instant) -> Option<DateTime<Utc>> {
        let (time, asked) = self.clock?;
        let since = TimeDelta::from_std(now.saturating_duration_since(asked)).ok()?;
        time.checked_add_signed(since)
    }

    pub(super) fn is_reported(&self, timeline: &str) -> bool {
        let reported = self.reported.as_ref();
        reported.is_some_and(|(of, _at)| of == timeline)
    }

    pub(super) fn note_begin(&mut self, now: Instant) {
        self.begun += 1;
        let recently = |at: Instant| now.saturating_duration_since(at) < GRANTED_BEFORE;
        self.reported.take_if(|(_of, at)| recently(*at));
    }
}
