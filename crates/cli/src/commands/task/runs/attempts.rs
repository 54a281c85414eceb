//! The attempts of a run, for people.

use cts_core::runs::brief_error;
use cts_proto::json::Word as _;
use cts_proto::run::v1::{AttemptEnding, AttemptRecord, Run, RunPhase};

use crate::commands::time_text::{duration, length, local, moment, steps};

/// The number of attempts, and a line for each that is recorded.
pub(super) fn text(run: &Run) -> String {
    let records = &run.attempt_records;
    let mut lines = vec![run.attempts.to_string()];
    for (index, record) in records.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| records.get(index));
        lines.push(line(record, before, &worker(record, records)));
    }
    lines.join("\n")
}

/// The name of the worker; its id if another worker of the run has the same name.
fn worker(record: &AttemptRecord, all: &[AttemptRecord]) -> String {
    let is_shared = all
        .iter()
        .any(|other| other.worker == record.worker && other.worker_id != record.worker_id);
    let name = if is_shared {
        &record.worker_id
    } else {
        &record.worker
    };
    name.clone()
}

/// An attempt in one line: `1: worker lost after 41.2 s on w-1, from 2026-02-03 10:15:30; silent for the last 30.0 s; in
/// apply`.
fn line(record: &AttemptRecord, before: Option<&AttemptRecord>, worker: &str) -> String {
    let (leased, renewed) = (moment(record.leased_at), moment(record.renewed_at));
    let ended = moment(record.ended_at);
    let ending = record.ending();
    let mut text = format!("{}: {}", record.number, words(ending));
    if let (Some(leased), Some(ended)) = (leased, ended) {
        text = format!("{text} after {}", duration(ended - leased));
    }
    text = format!("{text} on {worker}");
    if !record.worker_version.is_empty() {
        text = format!("{text} ({})", record.worker_version);
    }
    if let Some(leased) = leased {
        text = format!("{text}, from {}", local(leased));
    }
    let mut parts = vec![text];
    if let (Some(leased), Some(before)) = (leased, before.and_then(|it| moment(it.ended_at))) {
        parts.push(format!(
            "{} after the one before",
            duration(leased - before)
        ));
    }
    if let (AttemptEnding::LeaseLost | AttemptEnding::CutOff, Some(renewed), Some(ended)) =
        (ending, renewed, ended)
    {
        let silent = duration(ended - renewed);
        parts.push(format!("silent for the last {silent}"));
    }
    let phase = record.phase();
    let last = (phase != RunPhase::Unspecified).then(|| format!("in {}", phase.word()));
    let steps = last.unwrap_or_else(|| steps(record.phases.unwrap_or_default()));
    let error = brief_error(&record.error);
    let retry = record
        .retry_after
        .filter(|_| ending == AttemptEnding::Failed);
    let retry = retry.map(|wait| format!("next one due {} later", length(wait)));
    let rest = [steps, error, retry.unwrap_or_default()];
    parts.extend(rest.into_iter().filter(|part| !part.is_empty()));
    parts.join("; ")
}

const fn words(ending: AttemptEnding) -> &'static str {
    match ending {
        AttemptEnding::Running => "running",
        AttemptEnding::Succeeded => "succeeded",
        AttemptEnding::Failed => "failed",
        AttemptEnding::Cancelled => "cancelled",
        AttemptEnding::Replaced => "replaced by something newer",
        AttemptEnding::Released => "given back by its worker",
        AttemptEnding::LeaseLost => "worker lost",
        AttemptEnding::CutOff => "cut off by the end of cts",
        AttemptEnding::Unspecified => "ended",
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::PhaseTimes;
    use prost_types::{Duration, Timestamp};

    use super::*;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp { seconds, nanos: 0 }
    }

    const fn span(seconds: i64) -> Duration {
        Duration { seconds, nanos: 0 }
    }

    fn record(number: u32, worker: &str, ending: AttemptEnding) -> AttemptRecord {
        AttemptRecord {
            number,
            worker_id: format!("{worker}-0197"),
            worker: worker.into(),
            ending: ending.into(),
            ..AttemptRecord::default()
        }
    }

    fn shown(seconds: i64) -> String {
        local(moment(Some(at(seconds))).unwrap())
    }

    #[test]
    fn a_run_shows_where_its_time_went() {
        let lost = AttemptRecord {
            leased_at: Some(at(100)),
            renewed_at: Some(at(110)),
            ended_at: Some(at(140)),
            phase: RunPhase::Apply.into(),
            ..record(1, "w-1", AttemptEnding::LeaseLost)
        };
        let failed = AttemptRecord {
            leased_at: Some(at(141)),
            renewed_at: Some(at(141)),
            ended_at: Some(at(150)),
            error: "exit status 1\n\nError: full\n".into(),
            worker_version: "0.1.0".into(),
            retry_after: Some(span(2)),
            ..record(2, "w-2", AttemptEnding::Failed)
        };
        let running = AttemptRecord {
            leased_at: Some(at(152)),
            renewed_at: Some(at(152)),
            phases: Some(PhaseTimes {
                init: Some(span(1)),
                ..PhaseTimes::default()
            }),
            ..record(3, "w-2", AttemptEnding::Running)
        };
        let run = Run {
            attempts: 3,
            attempt_records: vec![lost, failed, running],
            ..Run::default()
        };
        let expected = [
            "3".to_owned(),
            format!(
                "1: worker lost after 40.0 s on w-1, from {}; silent for the last 30.0 s; in apply",
                shown(100)
            ),
            format!(
                "2: failed after 9.0 s on w-2 (0.1.0), from {}; 1.0 s after the one before; \
                 exit status 1: full; next one due 2.0 s later",
                shown(141)
            ),
            format!(
                "3: running on w-2, from {}; 2.0 s after the one before; init 1.0 s",
                shown(152)
            ),
        ];
        assert_eq!(text(&run), expected.join("\n"));
    }

    #[test]
    fn workers_of_one_name_are_told_apart_and_old_runs_have_a_number_only() {
        let mut other = record(2, "w-1", AttemptEnding::Succeeded);
        other.worker_id = "w-1-0198".into();
        let run = Run {
            attempts: 2,
            attempt_records: vec![record(1, "w-1", AttemptEnding::Released), other],
            ..Run::default()
        };
        assert_eq!(
            text(&run),
            "2\n1: given back by its worker on w-1-0197\n2: succeeded on w-1-0198"
        );
        assert_eq!(text(&Run::default()), "0");
    }
}
