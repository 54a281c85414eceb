//! Texts as Go reads them, on which files, requests and options rely. No maintained crate does that.

/// Returns the boolean that `text` stands for; `None` if it is not a boolean.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// Returns the nanoseconds of a duration, which is a sum of decimal numbers with units (`1h2m3.5s`) and may be
/// negative. `None` if `text` is not a duration or does not fit.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Some(0);
    }
    let mut rest = unsigned;
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let (whole, behind) = digits(rest);
        let (fraction, behind) = behind.strip_prefix('.').map_or(("", behind), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = behind
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        nanos = nanos.checked_add(amount(whole, fraction, nanos_of(unit)?)?)?;
        rest = behind;
    }
    if unsigned.is_empty() {
        return None;
    }
    i64::try_from(sign * nanos).ok()
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn nanos_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        // The micro sign, and the Greek letter that looks like it.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// `whole`.`fraction` of `unit`, cut off below a nanosecond.
fn amount(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    let number = |text: &str| match text {
        "" => Some(0),
        // Beyond any duration, and still far from the end of the type.
        text if text.trim_start_matches('0').len() > 19 => None,
        text => text.parse::<i128>().ok(),
    };
    // More digits than a fraction of an hour in nanoseconds has do not count.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(number(whole)? * unit + number(fraction)? * unit / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_numbers_with_units() {
        let cases = [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("5s", 5_000_000_000),
            ("-1.5s", -1_500_000_000),
            ("+2ms", 2_000_000),
            (".5us", 500),
            ("5.s", 5_000_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("1µs", 1_000),
            ("1μs", 1_000),
            ("0.0000000019s", 1),
            ("1s1s", 2_000_000_000),
            ("-0", 0),
            ("1h2m3.5s", 3_723_500_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("3µs", 3_000),
            ("-1.5m", -90_000_000_000),
            ("+7ns", 7),
            ("2m1m", 180_000_000_000),
            ("3us", 3_000),
            ("100ms", 100_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333333h", 1_199_999_999_999),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_durations() {
        for text in [
            "",
            "-",
            "+",
            "5",
            "s",
            ".s",
            ".",
            "1 s",
            " 1s",
            "1s ",
            "--1s",
            "1d",
            "1S",
            "1e3s",
            "1s-1s",
            "10",
            " ",
            "5S",
            "3000000h",
            "9223372036854775808ns",
            "10000000h",
            "99999999999999999999999999999999999999999999h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_spellings_of_go_are_booleans() {
        for text in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(text), Some(false), "{text}");
        }
        for text in ["", "TrUe", "yes", "on", " true", "2"] {
            assert_eq!(parse_bool(text), None, "{text}");
        }
    }
}
