//! Values in the units in which files have them.

use std::time::Duration;

/// A duration in the largest unit of which it is a multiple.
pub(crate) fn duration(duration: Duration) -> String {
    const UNITS: [(u128, &str); 6] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let nanoseconds = duration.as_nanos();
    let fits = |(factor, _): &&(u128, &str)| nanoseconds.is_multiple_of(*factor);
    match UNITS.iter().find(fits) {
        Some((factor, unit)) if nanoseconds > 0 => format!("{}{unit}", nanoseconds / factor),
        _ => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_their_largest_unit() {
        let cases = [
            (0, "0s"),
            (7, "7ns"),
            (1_500_000_000, "1500ms"),
            (90_000_000_000, "90s"),
            (600_000_000_000, "10m"),
            (86_400_000_000_000, "24h"),
        ];
        for (nanoseconds, expected) in cases {
            let written = duration(Duration::from_nanos(nanoseconds));
            assert_eq!(written, expected);
            let read = cts_core::go::parse_duration(&written);
            assert_eq!(read.ok(), i64::try_from(nanoseconds).ok());
        }
    }
}
