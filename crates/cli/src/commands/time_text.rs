//! Times and durations for people.

use chrono::{DateTime, FixedOffset, Local, TimeDelta};
use cts_proto::run::v1::PhaseTimes;
use cts_proto::time::{duration_from_wire, timestamp_from_wire};

/// A moment of an answer, if it is known.
pub(crate) fn moment(at: Option<prost_types::Timestamp>) -> Option<DateTime<FixedOffset>> {
    timestamp_from_wire(at.as_ref()).map(|at| at.fixed_offset())
}

/// In the time zone of this process, to the second.
pub fn local(at: DateTime<FixedOffset>) -> String {
    at.with_timezone(&Local)
        .format("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// The text of a scheduler with its times, in RFC 3339, in the time zone of this process.
pub(crate) fn with_local_times(text: &str) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let time = word.trim_end_matches([' ', ',', ';', ':']);
        match DateTime::parse_from_rfc3339(time) {
            Ok(at) => local(at) + &word[time.len()..],
            Err(_) => word.to_owned(),
        }
    });
    words.collect()
}

/// The time of day in the time zone of this process, to the second.
pub(crate) fn time_of_day(at: DateTime<FixedOffset>) -> String {
    at.with_timezone(&Local).format("%H:%M:%S").to_string()
}

/// In units that suit its length: `840 ms`, `12.4 s`, `3 min 5 s`, `2 h 10 min`.
pub(crate) fn duration(span: TimeDelta) -> String {
    let milliseconds = span.num_milliseconds().max(0);
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        // Cut, not rounded: 59.99 s is not shown as a minute.
        1..60 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Like [`duration`], from a duration in an answer.
pub(crate) fn length(time: prost_types::Duration) -> String {
    let time = TimeDelta::from_std(duration_from_wire(Some(&time)));
    duration(time.unwrap_or(TimeDelta::MAX))
}

/// The phases of an attempt with their lengths, as in `init 1.1 s, apply 12.4 s`.
pub(crate) fn steps(phases: PhaseTimes) -> String {
    let phases = [
        ("queue", phases.queue),
        ("render", phases.render),
        ("init", phases.init),
        ("validate", phases.validate),
        ("plan", phases.plan),
        ("apply", phases.apply),
        ("wait", phases.wait),
    ];
    let phases = phases.into_iter();
    let known = phases.filter_map(|(phase, took)| Some(format!("{phase} {}", length(took?))));
    known.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_texts_are_local() {
        let begin = "2026-02-03T10:15:30Z";
        let shown = local(DateTime::parse_from_rfc3339(begin).unwrap());
        assert_eq!(
            with_local_times(&format!(
                "since {begin}: web {begin}, {begin}x at 10:15:30;"
            )),
            format!("since {shown}: web {shown}, {begin}x at 10:15:30;")
        );
        assert_eq!(with_local_times("ünïcödé  ☃"), "ünïcödé  ☃");
    }

    #[test]
    fn durations_have_units_that_suit_them() {
        let cases = [
            (-5, "0 ms"),
            (840, "840 ms"),
            (1_000, "1.0 s"),
            (12_499, "12.4 s"),
            (59_999, "59.9 s"),
            (185_000, "3 min 5 s"),
            (7_800_000, "2 h 10 min"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(duration(TimeDelta::milliseconds(milliseconds)), expected);
        }
    }
}
