//! Durations as Go prints them: `1m30s`, `1.5s`, `100ms`, `0s` (docs/rest.md#task-objects).

use std::fmt;

use chrono::TimeDelta;

/// A duration that displays and serialises in Go's normalised syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurationText(pub(crate) TimeDelta);

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < TimeDelta::zero() {
            f.write_str("-")?;
        }
        let duration = self.0.abs().to_std().unwrap_or_default();
        let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
        if seconds == 0 {
            return match nanos {
                0 => f.write_str("0s"),
                1..1_000 => write!(f, "{nanos}ns"),
                1_000..1_000_000 => decimal(f, (nanos / 1_000).into(), nanos % 1_000, 3, "µs"),
                _ => decimal(f, (nanos / 1_000_000).into(), nanos % 1_000_000, 6, "ms"),
            };
        }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if seconds >= 60 {
            write!(f, "{minutes}m")?;
        }
        decimal(f, seconds % 60, nanos, 9, "s")
    }
}

/// `whole` and the fraction without its trailing zeros; `fraction` counts units of 10^-`digits`.
fn decimal(
    f: &mut fmt::Formatter<'_>,
    whole: u64,
    fraction: u32,
    digits: usize,
    unit: &str,
) -> fmt::Result {
    write!(f, "{whole}")?;
    if fraction != 0 {
        let text = format!("{fraction:0digits$}");
        write!(f, ".{}", text.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

impl serde::Serialize for DurationText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_normalised() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (999, "999ns"),
            (1_000, "1µs"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (100_050_000, "100.05ms"),
            (1_000_000_000, "1s"),
            (1_500_000_000, "1.5s"),
            (59_000_000_001, "59.000000001s"),
            (60_000_000_000, "1m0s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
            (90_061_250_000_000, "25h1m1.25s"),
            (-1_000_000_000, "-1s"),
            (-90_000_000_000, "-1m30s"),
            (-1, "-1ns"),
        ];
        for (nanos, expected) in cases {
            let text = DurationText(TimeDelta::nanoseconds(nanos)).to_string();
            assert_eq!(text, expected, "{nanos}");
        }
    }
}
