//! The cause of a run, as noted by its leader when the run was queued.

use chrono::serde::ts_microseconds_option;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::cause::add_causes;
use crate::words::excerpt::excerpt;
use crate::words::identity::CauseId;

/// Maximum number of noted changes of one run; further changes are only counted.
pub const CHANGES_NOTED: usize = 10;

/// Maximum characters of a noted change.
const CHANGE_LENGTH: usize = 200;

/// The cause of a run that was not requested. Stored as JSON, so members are only added.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCause {
    /// Time of the first change or tick that triggered the task; the buffer period lies between this time and the
    /// queue.
    #[serde(
        with = "ts_microseconds_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub triggered_at: Option<DateTime<Utc>>,
    /// Start of the shrink limit's block, if it lasted until the run was queued.
    #[serde(
        with = "ts_microseconds_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub blocked_since: Option<DateTime<Utc>>,
    /// The schedule of the task ticked.
    #[serde(skip_serializing_if = "is_false")]
    pub tick: bool,
    /// The run has the first data of the task under a new leader: after a start or a takeover.
    #[serde(skip_serializing_if = "is_false")]
    pub takeover: bool,
    /// With [`takeover`](Self::takeover): the start of the leader as a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beginning: Option<String>,
    /// The previous run finally failed, and its data is retried.
    #[serde(skip_serializing_if = "is_false")]
    pub retry: bool,
    /// Changes of views, such as `web: +web-3`; at most [`CHANGES_NOTED`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Number of further changes.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changes: u32,
    /// Views that were not read between the trigger and the freezing of the data, each with the reason; at most
    /// [`CHANGES_NOTED`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Number of further unread views.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_unread: u32,
    /// Causes whose changes were not in the last applied input, sorted; at most 16, the newest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl RunCause {
    /// The cause of a run that retries the data of a failed run.
    pub fn of_retry() -> Self {
        Self {
            retry: true,
            ..Self::default()
        }
    }

    /// Adds a change of a view.
    pub fn note(&mut self, change: &str) {
        let change = excerpt(change, CHANGE_LENGTH);
        if self.changes.len() < CHANGES_NOTED {
            self.changes.push(change);
        } else {
            self.more_changes = self.more_changes.saturating_add(1);
        }
    }

    /// Adds a view that was not read since the trigger.
    pub fn note_unread(&mut self, view: &str) {
        if self.unread.len() < CHANGES_NOTED {
            self.unread.push(excerpt(view, CHANGE_LENGTH));
        } else {
            self.more_unread = self.more_unread.saturating_add(1);
        }
    }

    /// Adds a later cause, whose input replaces that of the queued run.
    pub fn merge(&mut self, later: &Self) {
        self.triggered_at = self.triggered_at.or(later.triggered_at);
        self.blocked_since = self.blocked_since.or(later.blocked_since);
        self.tick |= later.tick;
        self.takeover |= later.takeover;
        let beginning = self.beginning.take();
        self.beginning = beginning.or_else(|| later.beginning.clone());
        self.retry |= later.retry;
        for change in &later.changes {
            self.note(change);
        }
        self.more_changes = self.more_changes.saturating_add(later.more_changes);
        self.unread.clone_from(&later.unread);
        self.more_unread = later.more_unread;
        add_causes(&mut self.causes, later.causes.iter().copied());
    }

    /// The triggers except changes of data, one line each.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        let beginning = self.beginning.as_deref();
        let takeover = self.takeover.then(|| {
            beginning.unwrap_or("first data under a new leader, after a start or a takeover")
        });
        let tick = self.tick.then_some("its schedule has ticked");
        let retry = self.retry.then_some("tries again after a failed run");
        takeover.into_iter().chain(tick).chain(retry)
    }

    /// Changes of data, one line each.
    pub fn change_lines(&self) -> impl Iterator<Item = String> {
        self.some_change_lines(CHANGES_NOTED)
    }

    /// Views that were not read since the trigger, one line each.
    pub fn unread_lines(&self) -> impl Iterator<Item = String> {
        let more = self.more_unread;
        let more = (more > 0).then(|| format!("and {more} more views"));
        self.unread.iter().cloned().chain(more)
    }

    /// The triggers, at most `most` changes of data, and the unread views.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let triggers = self.triggers().map(str::to_owned);
        let changes = triggers.chain(self.some_change_lines(most));
        changes.chain(self.unread_lines()).collect()
    }

    fn some_change_lines(&self, most: usize) -> impl Iterator<Item = String> {
        let left_out = self.changes.len().saturating_sub(most);
        let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        let more = self.more_changes.saturating_add(left_out);
        let more = (more > 0).then(|| format!("and {more} more changes"));
        self.changes.iter().take(most).cloned().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_merged_and_bounded() {
        let moment = |second| DateTime::from_timestamp(second, 0);
        let mut cause = RunCause {
            triggered_at: moment(1),
            tick: true,
            ..RunCause::default()
        };
        for number in 0..30 {
            let mut later = RunCause {
                triggered_at: moment(2),
                ..RunCause::default()
            };
            later.note(&format!("web: +web-{number}{}", "x".repeat(10_000)));
            cause.merge(&later);
        }
        assert_eq!(cause.triggered_at, moment(1));
        let lines: Vec<String> = cause.change_lines().collect();
        assert_eq!(lines.len(), CHANGES_NOTED + 1);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= CHANGE_LENGTH + 1)
        );
        assert_eq!(lines[CHANGES_NOTED], "and 20 more changes");
        let lines = cause.lines(1);
        assert_eq!(lines.len(), 3);
        assert_eq!(
            (lines[0].as_str(), lines[2].as_str()),
            ("its schedule has ticked", "and 29 more changes")
        );
    }

    #[test]
    fn the_newest_causes_are_kept_once_each() {
        let id = |number| CauseId::from_uuid(uuid::Uuid::from_u128(number));
        let mut cause = RunCause {
            causes: vec![id(1), id(3)],
            ..RunCause::default()
        };
        let later = RunCause {
            causes: (2..30).map(id).collect(),
            ..RunCause::default()
        };
        cause.merge(&later);
        let newest: Vec<_> = (14..30).map(id).collect();
        assert_eq!(cause.causes, newest);
    }

    #[test]
    fn a_stored_cause_is_short_and_one_of_a_later_version_is_read() {
        assert_eq!(serde_json::to_string(&RunCause::default()).unwrap(), "{}");
        let later: RunCause = serde_json::from_str(r#"{"tick":true,"moon":"full"}"#).unwrap();
        assert!(later.tick && !later.takeover);
        let mut earlier: RunCause = serde_json::from_str(r#"{"takeover":true}"#).unwrap();
        let line = "first data under a new leader, after a start or a takeover";
        assert_eq!(earlier.lines(0), [line]);
        earlier.merge(&RunCause {
            beginning: Some("first data since cts was started".to_owned()),
            ..RunCause::default()
        });
        assert_eq!(earlier.lines(0), ["first data since cts was started"]);
    }
}
