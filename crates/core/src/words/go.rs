//! Values as parsed by Go, on which files, requests and options rely. No maintained crate parses them.

/// Parses a boolean like Go; `None` if the text is not a boolean.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// A text is no duration. The messages are those of Go, which clients search for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDuration {
    /// Invalid characters, or a number that is too large.
    #[error("time: invalid duration {0:?}")]
    Syntax(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// An unknown unit.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// Unit as written.
        unit: String,
        /// Duration as written.
        text: String,
    },
}

/// Parses a duration into nanoseconds: a sum of decimal numbers with units (`1h2m3.5s`), which may be negative.
pub fn parse_duration(text: &str) -> Result<i64, InvalidDuration> {
    let invalid = || InvalidDuration::Syntax(text.to_owned());
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    let mut rest = unsigned;
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let (whole, behind) = digits(rest);
        let (fraction, behind) = behind.strip_prefix('.').map_or(("", behind), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = behind
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let unit = nanos_of(unit).ok_or_else(|| unusable_unit(unit, text))?;
        let part = amount(whole, fraction, unit);
        nanos = part
            .and_then(|part| nanos.checked_add(part))
            .ok_or_else(invalid)?;
        rest = behind;
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    i64::try_from(sign * nanos).map_err(|_overflow| invalid())
}

fn unusable_unit(unit: &str, text: &str) -> InvalidDuration {
    let text = text.to_owned();
    if unit.is_empty() {
        return InvalidDuration::MissingUnit(text);
    }
    InvalidDuration::UnknownUnit {
        unit: unit.to_owned(),
        text,
    }
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

/// Nanoseconds of `whole`.`fraction` of `unit`, rounded toward zero.
fn amount(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    let number = |text: &str| match text {
        "" => Some(0),
        // Longer than any duration, and still far from the limit of the type.
        text if text.trim_start_matches('0').len() > 19 => None,
        text => text.parse::<i128>().ok(),
    };
    // Digits beyond the precision of a fraction of an hour in nanoseconds are ignored.
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
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
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
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_named_in_the_words_of_go() {
        for (text, expected) in [
            ("soon", "time: invalid duration \"soon\""),
            ("", "time: invalid duration \"\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1 s", "time: unknown unit \" s\" in duration \"1 s\""),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), expected);
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
