//! Times in answers: RFC 3339 with the zeros at the end of the fraction cut (docs/rest.md#task-status).

use std::fmt;

use chrono::{DateTime, FixedOffset, Timelike as _};

/// A moment that displays and serialises as the API shows it: up to nine digits of fraction, `Z` for
/// UTC, else the offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeText(pub DateTime<FixedOffset>);

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%Y-%m-%dT%H:%M:%S"))?;
        // A leap second is counted as a second and more.
        let nanos = self.0.nanosecond() % 1_000_000_000;
        if nanos != 0 {
            let fraction = format!("{nanos:09}");
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        if self.0.offset().local_minus_utc() == 0 {
            f.write_str("Z")
        } else {
            write!(f, "{}", self.0.format("%:z"))
        }
    }
}

impl serde::Serialize for TimeText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_cut() {
        let cases = [
            "2026-02-03T10:15:30.123456789+01:00",
            "2026-02-03T10:15:42.5+01:00",
            "2026-02-03T10:15:42.050-03:30",
            "2026-02-03T10:15:42-03:30",
            "2026-02-03T10:15:42.000000001+00:00",
            "2026-02-03T10:15:42.000Z",
        ];
        let shown = cases.map(|text| TimeText(text.parse().unwrap()).to_string());
        assert_eq!(
            shown,
            [
                "2026-02-03T10:15:30.123456789+01:00",
                "2026-02-03T10:15:42.5+01:00",
                "2026-02-03T10:15:42.05-03:30",
                "2026-02-03T10:15:42-03:30",
                "2026-02-03T10:15:42.000000001Z",
                "2026-02-03T10:15:42Z",
            ]
        );
    }
}
