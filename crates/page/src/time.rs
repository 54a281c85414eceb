//! Times, as templates show them.

use std::fmt;

use chrono::{DateTime, Utc};
use prost_types::Timestamp;

/// A time: absolute by the clock of the server, which the script `live` follows with the time since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) DateTime<Utc>);

impl Time {
    /// The time of a message; `None` if it is absent or not a time.
    pub(crate) fn of(wire: Option<&Timestamp>) -> Option<Self> {
        cts_proto::time::timestamp_from_wire(wire).map(Self)
    }

    /// As text where no element may be.
    pub(crate) fn short(self) -> String {
        self.0.format("%Y-%m-%d %H:%M:%S UTC").to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.0.format("%Y-%m-%dT%H:%M:%SZ");
        write!(f, "<time datetime=\"{full}\">{}</time>", self.short())
    }
}

impl askama::filters::HtmlSafe for Time {}

/// The time from one moment to another; zero if they are in the wrong order, `None` if one of them is not known.
pub(crate) fn between(from: Option<&Timestamp>, to: Option<&Timestamp>) -> Option<Millis> {
    let [from, to] = [from, to].map(cts_proto::time::timestamp_from_wire);
    let passed = (to? - from?).num_milliseconds();
    Some(Millis(u64::try_from(passed).unwrap_or(0)))
}

/// A duration in two units at most, such as `4 min 10 s` or `120 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Millis(pub(crate) u64);

impl Millis {
    /// The duration of a message.
    pub(crate) fn of(wire: &prost_types::Duration) -> Self {
        let time = cts_proto::time::duration_from_wire(Some(wire)).as_millis();
        Self(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        match seconds {
            0 => write!(f, "{} ms", self.0),
            1..=9 => write!(f, "{}.{} s", seconds, self.0 % 1000 / 100),
            10..=59 => write!(f, "{seconds} s"),
            60..=3599 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            3600..=86_399 => write!(f, "{} h {} min", seconds / 3600, seconds % 3600 / 60),
            _ => write!(f, "{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
        }
    }
}
