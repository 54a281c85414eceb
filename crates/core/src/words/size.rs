//! Sizes in bytes, as text with a unit.

const UNITS: [(&str, u64); 10] = [
    ("PiB", 1 << 50),
    ("PB", 1_000_000_000_000_000),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
];

/// Parses a size such as `20GiB` or `500MB`: a whole number and a unit; `None` for any other text.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Returns the size in the largest unit that divides it, or in bytes without a unit, as [`parse_size`] parses it.
pub fn size_text(bytes: u64) -> String {
    let mut fitting = UNITS.iter();
    match fitting.find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, expected) in [
            ("1KiB", Some(1024)),
            ("20GiB", Some(20 << 30)),
            ("0MB", Some(0)),
            ("007KB", Some(7000)),
            ("16384PiB", None),
            ("99999999999999999999KB", None),
            ("20", None),
            ("GiB", None),
            ("-1GiB", None),
            ("1.5GiB", None),
            ("1 GiB", None),
            ("1gib", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_written_in_their_largest_unit() {
        for (bytes, expected) in [
            (20 << 30, "20GiB"),
            (1500 << 20, "1500MiB"),
            (5_000_000_000, "5GB"),
            (1001, "1001B"),
            (0, "0B"),
        ] {
            assert_eq!(size_text(bytes), expected);
        }
    }
}
