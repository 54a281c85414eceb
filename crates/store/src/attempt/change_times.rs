//! How long the change took that a run has applied, from the records of the attempts of the run.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{AttemptEnding, RunCause};
use cts_core::{TimeHistograms, TimesAt};
use cts_proto::time::duration_from_wire;

use super::attempt_record::{ATTEMPTS_RECORDED, AttemptRecord};
use super::history::attempts;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// Reads from a row of `runs` when an apply has succeeded, and how long its change took. `None` if that is not known.
pub fn applied_change(row: &dyn Columns) -> Result<Option<TimesAt>, StoreError> {
    let run = Fields::new(row, "read the times of a change", "runs").keyed_by_id("id")?;
    let cause = run.json_if_any("cause")?.unwrap_or_default();
    Ok(times(&cause, run.time("created_at")?, &attempts(row)?))
}

/// The phases do not overlap: what is left of `applied` are the pauses before further attempts.
fn times(
    cause: &RunCause,
    queued_at: DateTime<Utc>,
    attempts: &[AttemptRecord],
) -> Option<TimesAt> {
    let arrived = cause.triggered_at?;
    // The first attempts of a run with many are no longer known.
    let all_known = attempts.len() < ATTEMPTS_RECORDED;
    if !all_known || attempts.last()?.ending != AttemptEnding::Succeeded {
        return None;
    }
    // A change may join a run that was queued before.
    let between = |from: DateTime<Utc>, to: DateTime<Utc>| {
        (to - from.max(arrived)).to_std().unwrap_or_default()
    };
    let [mut queued, mut terraform, mut waiting, mut pause] = [Duration::ZERO; 4];
    let mut free_since = queued_at;
    for attempt in attempts {
        let (leased_at, ended_at) = attempt.leased_at.zip(attempt.ended_at)?;
        let due_at = attempt.due_at.unwrap_or(free_since).max(free_since);
        let waited = duration_from_wire(attempt.phases.wait.as_ref());
        waiting += between(free_since, due_at).saturating_sub(pause) + waited;
        queued += between(due_at, leased_at);
        terraform += between(leased_at, ended_at).saturating_sub(waited);
        (free_since, pause) = (ended_at, attempt.retry_after.unwrap_or_default());
    }
    let mut times = TimeHistograms::default();
    let whole = between(arrived, free_since);
    times.record("applied", whole.saturating_sub(waiting));
    times.record("buffered", between(arrived, queued_at));
    times.record("queued", queued);
    times.record("terraform", terraform);
    // The rest of a pause, which is stored in whole milliseconds, is no wait.
    if waiting.as_secs() > 0 {
        times.record("waiting", waiting);
    }
    if let Some(since) = cause.blocked_since {
        times.record("blocked", (queued_at - since).to_std().unwrap_or_default());
    }
    Some((free_since, times))
}

#[cfg(test)]
mod tests {
    use cts_core::{LeaseEpoch, WorkerId};
    use cts_proto::run::v1::PhaseTimes;
    use cts_proto::time::duration_to_wire;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_770_110_130 + seconds, 0).unwrap()
    }

    fn attempt([due, leased, ended]: [i64; 3]) -> AttemptRecord {
        AttemptRecord {
            epoch: LeaseEpoch::new(1),
            number: 1,
            worker: WorkerId::new("w"),
            due_at: Some(at(due)),
            leased_at: Some(at(leased)),
            renewed_at: at(leased),
            ended_at: Some(at(ended)),
            ending: AttemptEnding::Succeeded,
            error: String::new(),
            worker_version: String::new(),
            early_failure: None,
            phases: PhaseTimes::default(),
            phase: None,
            retry_after: None,
            last_line: None,
        }
    }

    fn cause(triggered: i64) -> RunCause {
        RunCause {
            triggered_at: Some(at(triggered)),
            ..RunCause::default()
        }
    }

    /// The time of the end and the phases, in seconds.
    fn expected(end: i64, phases: &[(&str, u32)]) -> TimesAt {
        let mut times = TimeHistograms::default();
        for (phase, seconds) in phases {
            times.record(phase, SECOND * *seconds);
        }
        (at(end), times)
    }

    #[test]
    fn the_phases_of_an_ordinary_change_are_its_whole_time() {
        let phases = [
            ("applied", 17),
            ("buffered", 5),
            ("queued", 2),
            ("terraform", 10),
        ];
        let change = times(&cause(0), at(5), &[attempt([5, 7, 17])]);
        assert_eq!(change, Some(expected(17, &phases)));
    }

    #[test]
    fn waits_for_persons_are_no_part_of_the_whole_time() {
        // Released after 100 s, asks after 10 s, approved 1000 s later, confirmed on its server after 50 s.
        let last = AttemptRecord {
            phases: PhaseTimes {
                wait: Some(duration_to_wire(SECOND * 50)),
                ..PhaseTimes::default()
            },
            ..attempt([1117, 1120, 1180])
        };
        let asked = AttemptRecord {
            ending: AttemptEnding::Released,
            retry_after: Some(Duration::ZERO),
            ..attempt([105, 107, 117])
        };
        let phases = [
            ("applied", 30),
            ("buffered", 5),
            ("queued", 5),
            ("terraform", 20),
            ("waiting", 1150),
        ];
        let change = times(&cause(0), at(5), &[asked, last]);
        assert_eq!(change, Some(expected(1180, &phases)));
    }

    #[test]
    fn the_pause_before_a_retry_is_part_of_the_whole_time_alone() {
        let failed = AttemptRecord {
            ending: AttemptEnding::Failed,
            retry_after: Some(SECOND * 8),
            ..attempt([5, 5, 15])
        };
        let phases = [
            ("applied", 30),
            ("buffered", 5),
            ("queued", 1),
            ("terraform", 16),
        ];
        let change = times(&cause(0), at(5), &[failed, attempt([23, 24, 30])]);
        assert_eq!(change, Some(expected(30, &phases)));
    }

    #[test]
    fn a_change_that_joins_a_queued_run_counts_from_its_arrival() {
        let phases = [
            ("applied", 15),
            ("buffered", 0),
            ("queued", 10),
            ("terraform", 5),
        ];
        let change = times(&cause(60), at(0), &[attempt([0, 70, 75])]);
        assert_eq!(change, Some(expected(75, &phases)));
    }

    #[test]
    fn the_time_of_a_block_is_a_phase_of_its_own() {
        let cause = RunCause {
            blocked_since: Some(at(-100)),
            ..cause(0)
        };
        let phases = [
            ("applied", 1),
            ("buffered", 0),
            ("queued", 0),
            ("terraform", 1),
            ("blocked", 100),
        ];
        let change = times(&cause, at(0), &[attempt([0, 0, 1])]);
        assert_eq!(change, Some(expected(1, &phases)));
    }

    #[test]
    fn a_change_whose_times_are_not_known_does_not_count() {
        let known = [attempt([5, 7, 17])];
        assert_eq!(times(&RunCause::default(), at(5), &known), None);
        assert_eq!(times(&cause(0), at(5), &[]), None);
        let silent = AttemptRecord {
            leased_at: None,
            ..attempt([5, 7, 17])
        };
        assert_eq!(times(&cause(0), at(5), &[silent]), None);
        let lost = AttemptRecord {
            ending: AttemptEnding::LeaseLost,
            ..attempt([5, 7, 17])
        };
        assert_eq!(times(&cause(0), at(5), &[lost]), None);
        let many = vec![attempt([5, 7, 17]); ATTEMPTS_RECORDED];
        assert_eq!(times(&cause(0), at(5), &many), None);
        assert!(times(&cause(0), at(5), &many[1..]).is_some());
    }
}
