use chrono::DateTime;
use cts_proto::run::v1::RunStatus;
use prost_types::Duration;

use super::*;

const fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}

const fn span(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

/// A row with the begins and ends of its segments, in seconds; -1 for an open end.
type Times = (String, Vec<(String, i64, i64)>);

fn record(number: u32, ending: AttemptEnding, from: i64, to: Option<Timestamp>) -> AttemptRecord {
    AttemptRecord {
        number,
        worker: "w<1>".into(),
        ending: ending.into(),
        leased_at: Some(at(from)),
        renewed_at: Some(at(from + 2)),
        ended_at: to,
        ..AttemptRecord::default()
    }
}

fn times(run: &Run) -> Vec<Times> {
    let second = |at: DateTime<Utc>| at.timestamp();
    let segment = |it: &Segment| {
        let end = it.to.map_or(-1, second);
        (it.name.clone(), second(it.from), end)
    };
    let rows = Waterfall::of(run).rows.into_iter();
    rows.map(|row| (row.label, row.segments.iter().map(segment).collect()))
        .collect()
}

fn row(label: &str, segments: &[(&str, i64, i64)]) -> Times {
    let segments = segments.iter();
    let segments = segments.map(|(name, from, to)| ((*name).to_owned(), *from, *to));
    (label.to_owned(), segments.collect())
}

fn run() -> Run {
    let phases = PhaseTimes {
        init: Some(span(2)),
        plan: Some(span(1)),
        wait: Some(span(4)),
        apply: Some(span(1)),
        ..PhaseTimes::default()
    };
    Run {
        triggered_at: Some(at(100)),
        blocked_since: Some(at(103)),
        queued_at: Some(at(105)),
        started_at: Some(at(110)),
        finished_at: Some(at(140)),
        status: RunStatus::Succeeded.into(),
        attempt_records: vec![
            record(1, AttemptEnding::LeaseLost, 110, Some(at(120))),
            AttemptRecord {
                phases: Some(phases),
                ..record(2, AttemptEnding::Succeeded, 130, Some(at(140)))
            },
        ],
        ..Run::default()
    }
}

#[test]
fn waits_attempts_and_phases_follow_each_other() {
    assert_eq!(
        times(&run()),
        [
            row("buffered", &[("buffered", 100, 103)]),
            row("blocked", &[("blocked", 103, 105)]),
            row("queued", &[("queued", 105, 110)]),
            row("attempt 1", &[("work", 110, 112), ("silent", 112, 120)]),
            row(
                "attempt 2",
                &[
                    ("init", 130, 132),
                    ("plan", 132, 133),
                    ("wait", 133, 137),
                    ("apply", 137, 138),
                    ("other", 138, 140),
                ]
            ),
        ]
    );
}

#[test]
fn an_attempt_that_goes_on_has_an_open_end() {
    let running = Run {
        status: RunStatus::Running.into(),
        queued_at: Some(at(1)),
        started_at: Some(at(2)),
        phase_since: Some(at(5)),
        attempt_records: vec![AttemptRecord {
            phase: RunPhase::Apply.into(),
            ..record(1, AttemptEnding::Running, 2, None)
        }],
        ..Run::default()
    };
    let expected = [
        row("queued", &[("queued", 1, 2)]),
        row("attempt 1", &[("work", 2, 5), ("apply", 5, -1)]),
    ];
    assert_eq!(times(&running), expected);
    let queued = Run {
        queued_at: Some(at(1)),
        ..Run::default()
    };
    assert_eq!(times(&queued), [row("queued", &[("queued", 1, -1)])]);
}

#[test]
fn times_that_contradict_each_other_stay_in_order() {
    let mut odd = run();
    odd.queued_at = Some(at(90));
    let phases = odd.attempt_records[1].phases.as_mut().unwrap();
    phases.init = Some(span(i64::MAX));
    let drawn = times(&odd);
    assert_eq!(drawn[0], row("buffered", &[("buffered", 100, 103)]));
    assert_eq!(drawn[1], row("blocked", &[("blocked", 103, 103)]));
    let (_, last) = drawn.last().unwrap();
    assert!(
        last.iter().all(|(_, from, to)| from <= to && *to <= 140),
        "{last:?}"
    );
}

#[test]
fn the_drawing_has_a_title_and_all_times_in_a_table() {
    let shown = Waterfall::of(&run()).html();
    let lines = shown.lines().take(8).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(lines);
    assert!(shown.contains("on <bdi>w&lt;1&gt;</bdi>"), "{shown}");
    assert_eq!(Waterfall::of(&run()).html(), shown);
    let nothing = Waterfall::of(&Run::default()).html();
    assert_eq!(
        nothing.trim(),
        "<p class=\"muted\">No time is known yet.</p>"
    );
}
