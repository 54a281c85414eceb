//! The state of a task at a time, including its run and its data. The status of the original counts only events
//! ([`TaskStatus`]).

use chrono::{DateTime, TimeDelta, Utc};

use crate::run::event::TaskStatus;

/// The state of a task at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CurrentState {
    /// A worker works on a run of the task.
    Running,
    /// The present or next run waits for a condition outside of cts: a lock, data, the end of a buffer period.
    Waiting,
    /// A run is due and waits for a worker.
    Queued,
    /// A run failed or lost its worker, and is due again later.
    Retrying,
    /// The shrink limit blocks its newest data.
    Blocked,
    /// Data in Consul cannot be read, so that changes are not noticed, or a run has waited for data for a minute.
    Blind,
    /// The task is disabled.
    Disabled,
    /// The task is being deleted.
    Deleting,
    /// The task never ran.
    NeverRun,
    /// The newest run succeeded.
    Successful,
    /// The newest run failed, and it is the only failure.
    Errored,
    /// The newest run failed, and it is not the only failure.
    Critical,
}

impl CurrentState {
    /// All states, problems first.
    pub const ALL: [Self; 12] = [
        Self::Blocked,
        Self::Critical,
        Self::Errored,
        Self::Blind,
        Self::Retrying,
        Self::Queued,
        Self::Waiting,
        Self::Running,
        Self::Deleting,
        Self::Disabled,
        Self::NeverRun,
        Self::Successful,
    ];

    /// The spelling of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Retrying => "retrying",
            Self::Blocked => "blocked",
            Self::Blind => "blind",
            Self::Disabled => "disabled",
            Self::Deleting => "deleting",
            Self::NeverRun => "never_run",
            Self::Successful => "successful",
            Self::Errored => "errored",
            Self::Critical => "critical",
        }
    }

    /// Whether the task needs attention.
    pub const fn is_problem(self) -> bool {
        matches!(
            self,
            Self::Blocked | Self::Critical | Self::Errored | Self::Blind | Self::Retrying
        )
    }
}

/// A run of a task that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenRun {
    /// A worker works on it.
    Running {
        /// Start of its first attempt, if known.
        since: Option<DateTime<Utc>>,
        /// Whether the run waits for a condition outside of cts.
        waits: bool,
    },
    /// The run is queued until a person consents to its effect.
    Awaits {
        /// Start of its first attempt, if known.
        since: Option<DateTime<Utc>>,
    },
    /// The run is queued.
    Queued {
        /// Due time.
        due_at: DateTime<Utc>,
    },
}

/// Facts from which the state of a task follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateFacts {
    /// The status by its newest events.
    pub status: TaskStatus,
    /// End of the newest event, if any.
    pub newest_event: Option<DateTime<Utc>>,
    /// Whether changes run it.
    pub enabled: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether its infrastructure cannot be destroyed until an operator acts.
    pub stuck: bool,
    /// The running run, else the queued run.
    pub run: Option<OpenRun>,
    /// Start of the block of its newest data by the shrink limit.
    pub blocked_since: Option<DateTime<Utc>>,
    /// Time since which some of its data cannot be read.
    pub unread_since: Option<DateTime<Utc>>,
    /// Whether its next run waits for data that was never read, or that the first run requires.
    pub waits: bool,
    /// Start of that wait, if known.
    pub waits_since: Option<DateTime<Utc>>,
    /// End of the buffer period that delays its changes.
    pub buffered_until: Option<DateTime<Utc>>,
}

/// A state with its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedState {
    /// The state.
    pub state: CurrentState,
    /// Start of the state, if known.
    pub since: Option<DateTime<Utc>>,
    /// End of the state, if it ends by itself at a known time.
    pub until: Option<DateTime<Utc>>,
}

/// Longest wait for data that usually ends by itself.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(1);

impl StateFacts {
    /// When a task that waits for data since `waits_since` becomes [`CurrentState::Blind`].
    pub fn blind_at(waits_since: DateTime<Utc>) -> Option<DateTime<Utc>> {
        waits_since.checked_add_signed(LONGEST_WAIT)
    }

    /// The state at `now`. A run takes precedence over data, and data over the last result.
    pub fn at(&self, now: DateTime<Utc>) -> TimedState {
        let (state, since, until) = self.decide(now);
        TimedState {
            state,
            since,
            until,
        }
    }

    fn decide(
        &self,
        now: DateTime<Utc>,
    ) -> (CurrentState, Option<DateTime<Utc>>, Option<DateTime<Utc>>) {
        match self.run {
            Some(OpenRun::Running { since, waits: true } | OpenRun::Awaits { since }) => {
                return (CurrentState::Waiting, since, None);
            }
            Some(OpenRun::Running { since, .. }) => return (CurrentState::Running, since, None),
            Some(OpenRun::Queued { .. }) | None => {}
        }
        if self.deleting && self.stuck {
            return (CurrentState::Blocked, None, None);
        }
        if self.deleting {
            return (CurrentState::Deleting, None, None);
        }
        if let Some(since) = self.blocked_since {
            return (CurrentState::Blocked, Some(since), None);
        }
        match self.run {
            Some(OpenRun::Queued { due_at }) if due_at > now => {
                return (CurrentState::Retrying, self.newest_event, Some(due_at));
            }
            Some(OpenRun::Queued { due_at }) => return (CurrentState::Queued, Some(due_at), None),
            Some(OpenRun::Running { .. } | OpenRun::Awaits { .. }) | None => {}
        }
        if !self.enabled {
            return (CurrentState::Disabled, None, None);
        }
        if let Some(since) = self.unread_since {
            return (CurrentState::Blind, Some(since), None);
        }
        if self.waits {
            let blind_at = self.waits_since.and_then(Self::blind_at);
            let state = match blind_at {
                Some(at) if at <= now => CurrentState::Blind,
                Some(_) | None => CurrentState::Waiting,
            };
            return (state, self.waits_since, None);
        }
        if let Some(until) = self.buffered_until.filter(|until| *until > now) {
            return (CurrentState::Waiting, None, Some(until));
        }
        let state = match self.status {
            TaskStatus::Successful => CurrentState::Successful,
            TaskStatus::Errored => CurrentState::Errored,
            TaskStatus::Critical => CurrentState::Critical,
            TaskStatus::Unknown => CurrentState::NeverRun,
        };
        (state, self.newest_event, None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::CurrentState::*;
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_770_110_130, 0).unwrap()
    }

    fn ago(seconds: i64) -> DateTime<Utc> {
        now() - TimeDelta::seconds(seconds)
    }

    const WELL: StateFacts = StateFacts {
        status: TaskStatus::Successful,
        newest_event: None,
        enabled: true,
        deleting: false,
        stuck: false,
        run: None,
        blocked_since: None,
        unread_since: None,
        waits: false,
        waits_since: None,
        buffered_until: None,
    };

    fn running(waits: bool) -> OpenRun {
        let since = Some(ago(7));
        OpenRun::Running { since, waits }
    }

    fn awaits() -> OpenRun {
        let since = Some(ago(7));
        OpenRun::Awaits { since }
    }

    fn due_at(due_at: DateTime<Utc>) -> OpenRun {
        OpenRun::Queued { due_at }
    }

    #[test]
    fn a_run_counts_before_data_and_data_before_the_last_result() {
        let blind = StateFacts {
            unread_since: Some(ago(60)),
            ..WELL
        };
        let blocked = StateFacts {
            blocked_since: Some(ago(90)),
            ..blind
        };
        let later = now() + TimeDelta::seconds(20);
        let with = |facts: StateFacts, run| StateFacts {
            run: Some(run),
            ..facts
        };
        let off = |facts: StateFacts| StateFacts {
            enabled: false,
            ..facts
        };
        let by = |status| StateFacts { status, ..WELL };
        let waits = |seconds| StateFacts {
            waits: true,
            waits_since: Some(ago(seconds)),
            ..WELL
        };
        let cases = [
            (WELL, Successful, None, None),
            (by(TaskStatus::Errored), Errored, None, None),
            (by(TaskStatus::Critical), Critical, None, None),
            (by(TaskStatus::Unknown), NeverRun, None, None),
            (blind, Blind, Some(ago(60)), None),
            (off(blind), Disabled, None, None),
            (blocked, Blocked, Some(ago(90)), None),
            (with(blocked, running(false)), Running, Some(ago(7)), None),
            (with(blind, running(true)), Waiting, Some(ago(7)), None),
            (with(blocked, awaits()), Waiting, Some(ago(7)), None),
            (with(off(WELL), awaits()), Waiting, Some(ago(7)), None),
            (with(blind, due_at(ago(3))), Queued, Some(ago(3)), None),
            (with(off(WELL), due_at(ago(3))), Queued, Some(ago(3)), None),
            (with(blind, due_at(later)), Retrying, None, Some(later)),
            (
                StateFacts {
                    deleting: true,
                    ..blocked
                },
                Deleting,
                None,
                None,
            ),
            (
                StateFacts {
                    deleting: true,
                    stuck: true,
                    ..with(WELL, due_at(later))
                },
                Blocked,
                None,
                None,
            ),
            (
                StateFacts {
                    waits: true,
                    ..WELL
                },
                Waiting,
                None,
                None,
            ),
            (waits(59), Waiting, Some(ago(59)), None),
            (waits(60), Blind, Some(ago(60)), None),
            (off(waits(60)), Disabled, None, None),
            (with(waits(60), running(false)), Running, Some(ago(7)), None),
            (
                StateFacts {
                    buffered_until: Some(later),
                    ..WELL
                },
                Waiting,
                None,
                Some(later),
            ),
            (
                StateFacts {
                    buffered_until: Some(ago(1)),
                    ..WELL
                },
                Successful,
                None,
                None,
            ),
        ];
        for (facts, state, since, until) in cases {
            let expected = TimedState {
                state,
                since,
                until,
            };
            assert_eq!(facts.at(now()), expected, "{facts:?}");
        }
        let reached: BTreeSet<CurrentState> = cases.iter().map(|(_, state, ..)| *state).collect();
        assert_eq!(reached, BTreeSet::from(CurrentState::ALL));
    }
}
