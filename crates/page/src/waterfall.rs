//! Where the time of a run went: a bar for each wait and each attempt, with its phases. The drawing ends with the last
//! known moment, so equal runs are equal bytes; what goes on has an open end.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use cts_proto::json::Word as _;
use cts_proto::run::v1::{AttemptEnding, AttemptRecord, PhaseTimes, Run, RunPhase};
use cts_proto::time::{duration_from_wire, timestamp_from_wire};
use prost_types::Timestamp;

use crate::state::State;
use crate::text::Foreign;
use crate::time::{Millis, Time};

/// Geometry in pixels: labels, then bars.
const LABELS: i64 = 110;
const BARS: i64 = 600;
const ROW: i64 = 26;
/// Least width of a bar, width of an open end, and width of a letter.
const LEAST: i64 = 3;
const OPEN: i64 = 24;
const LETTER: i64 = 7;

/// The bars of a run.
#[derive(Template)]
#[template(path = "run/waterfall.html")]
pub(crate) struct Waterfall {
    rows: Vec<Row>,
    begin: DateTime<Utc>,
    /// Milliseconds from the first to the last known moment.
    span: i64,
}

/// A wait or an attempt.
struct Row {
    label: String,
    segments: Vec<Segment>,
    /// The attempt; `None` for a wait before the first.
    attempt: Option<AttemptRecord>,
}

/// A phase with its begin and its end, which is absent while the phase goes on.
struct Segment {
    name: String,
    from: DateTime<Utc>,
    to: Option<DateTime<Utc>>,
}

impl Segment {
    fn new(name: &str, from: DateTime<Utc>, to: Option<DateTime<Utc>>) -> Self {
        Self {
            name: name.to_owned(),
            from,
            to: to.map(|to| to.max(from)),
        }
    }

    fn begin(&self) -> Time {
        Time(self.from)
    }

    fn time(&self) -> Option<Millis> {
        let passed = (self.to? - self.from).num_milliseconds();
        u64::try_from(passed).ok().map(Millis)
    }
}

impl Waterfall {
    pub(crate) fn of(run: &Run) -> Self {
        let mut rows = waits(run);
        rows.extend(run.attempt_records.iter().map(|it| Row {
            label: format!("attempt {}", it.number),
            segments: segments(it, run).unwrap_or_default(),
            attempt: Some(it.clone()),
        }));
        rows.retain(|row| !row.segments.is_empty());
        let segments = || rows.iter().flat_map(|row| &row.segments);
        let begin = segments().map(|it| it.from).min().unwrap_or_default();
        let end = segments().map(|it| it.to.unwrap_or(it.from)).max();
        let span = end.unwrap_or(begin) - begin;
        Self {
            begin,
            span: span.num_milliseconds().max(1),
            rows,
        }
    }

    /// The drawing, with all times in a table behind it.
    pub(crate) fn html(&self) -> String {
        self.render().unwrap_or_default()
    }

    fn height(&self) -> i64 {
        i64::try_from(self.rows.len()).unwrap_or(0) * ROW
    }

    fn x(&self, at: DateTime<Utc>) -> i64 {
        let passed = (at - self.begin).num_milliseconds();
        LABELS + passed.saturating_mul(BARS) / self.span
    }

    fn width(&self, it: &Segment) -> i64 {
        it.to
            .map_or(OPEN, |to| (self.x(to) - self.x(it.from)).max(LEAST))
    }

    /// Whether the name fits into its bar.
    fn is_named(&self, it: &Segment) -> bool {
        i64::try_from(it.name.len()).is_ok_and(|letters| (letters + 1) * LETTER <= self.width(it))
    }
}

/// The times before the first attempt.
fn waits(run: &Run) -> Vec<Row> {
    let moment = |at: &Option<Timestamp>| timestamp_from_wire(at.as_ref());
    let (blocked, queued) = (moment(&run.blocked_since), moment(&run.queued_at));
    let started = moment(&run.started_at).or(moment(&run.finished_at));
    let waits = [
        ("buffered", moment(&run.triggered_at), blocked.or(queued)),
        ("blocked", blocked, queued),
        ("queued", queued, started),
    ];
    let row = |(name, from, to): (&str, Option<_>, _)| Row {
        label: name.to_owned(),
        segments: from
            .into_iter()
            .map(|from| Segment::new(name, from, to))
            .collect(),
        attempt: None,
    };
    waits.map(row).into()
}

fn segments(record: &AttemptRecord, run: &Run) -> Option<Vec<Segment>> {
    let begin = timestamp_from_wire(record.leased_at.as_ref())?;
    let end = timestamp_from_wire(record.ended_at.as_ref());
    if let Some(phases) = &record.phases {
        return Some(phases_from(begin, end, phases));
    }
    let word = match record.phase() {
        RunPhase::Unspecified => "work".to_owned(),
        phase => phase.word(),
    };
    // Moment from which on only the last phase, or silence, is known.
    let (name, since) = match (record.ending(), end) {
        (AttemptEnding::LeaseLost | AttemptEnding::CutOff, _) => ("silent", record.renewed_at),
        (_, None) => (word.as_str(), run.phase_since),
        (_, Some(_)) => (word.as_str(), None),
    };
    let Some(since) = timestamp_from_wire(since.as_ref()) else {
        return Some(vec![Segment::new(&word, begin, end)]);
    };
    let before = if name == "silent" { &word } else { "work" };
    Some(vec![
        Segment::new(before, begin, Some(since)),
        Segment::new(name, since, end),
    ])
}

/// Phases one after the other, and the rest of the time until the end.
fn phases_from(
    begin: DateTime<Utc>,
    end: Option<DateTime<Utc>>,
    phases: &PhaseTimes,
) -> Vec<Segment> {
    let wait = phases
        .wait
        .map(|time| ("wait", duration_from_wire(Some(&time))));
    // A server waits for a person after its plan.
    let (apply, before): (Vec<_>, Vec<_>) = phases.steps().partition(|(name, _)| *name == "apply");
    let mut at = begin;
    let mut found = Vec::new();
    for (name, time) in before.into_iter().chain(wait).chain(apply) {
        let time = TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
        let to = at.checked_add_signed(time).unwrap_or(at);
        let to = end.map_or(to, |end| to.min(end.max(begin)));
        found.push(Segment::new(name, at, Some(to)));
        at = to;
    }
    if end.is_none_or(|end| end > at) {
        found.push(Segment::new("other", at, end));
    }
    found
}

#[cfg(test)]
mod tests;
