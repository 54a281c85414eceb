//! Duration text: decimal numbers with units, as in `1h2m3.5s`.

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration in nanoseconds; `None` if it is none or beyond 64 bits.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, behind) = digits(rest);
        let (fraction, behind) = match behind.strip_prefix('.') {
            Some(behind) => digits(behind),
            None => ("", behind),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = behind
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, next) = behind.split_at(end);
        let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        total = total.checked_add(whole.checked_mul(factor)?)?;
        total = total.checked_add(fraction_of(fraction, factor))?;
        rest = next;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Digits beyond the sixteenth cannot change a nanosecond of an hour.
fn fraction_of(digits: &str, factor: i128) -> i128 {
    let mut value = 0;
    let mut scale = 1;
    for digit in digits.bytes().take(16) {
        value = value * 10 + i128::from(digit - b'0');
        scale *= 10;
    }
    value * factor / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        let cases = [
            ("0", 0),
            ("-0", 0),
            ("5s", 5_000_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("100ms", 100_000_000),
            ("3us", 3_000),
            ("3µs", 3_000),
            ("-1.5m", -90_000_000_000),
            ("+7ns", 7),
            ("2m1m", 180_000_000_000),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_durations() {
        for text in [
            "", " ", "10", "-", "s", ".s", "1d", "1 s", "1s ", "5S", "1e3s", "3000000h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
