//! Lists of SHA-256 sums as `sha256sum` writes them.

/// A SHA-256 sum.
pub(crate) type Sum = [u8; 32];

/// The sum of `file` in a list: `None` if the file is missing, comes more than once, or its sum cannot be
/// read.
pub(crate) fn sum_of(list: &[u8], file: &str) -> Option<Sum> {
    let text = std::str::from_utf8(list).ok()?;
    let mut sums = text.lines().filter_map(|line| {
        let (sum, name) = line.split_once(' ')?;
        // The second blank is a `*` for a file that was read as binary.
        let name = name.strip_prefix([' ', '*']).unwrap_or(name);
        (name == file).then_some(sum)
    });
    let sum = sums.next()?;
    if sums.next().is_some() {
        return None;
    }
    parse(sum)
}

/// Bytes in the form of such lists.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn parse(text: &str) -> Option<Sum> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some((high << 4) | low),
            _ => None,
        })
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_file_is_found_if_there_is_one() {
        let (one, two) = ("0f".repeat(32), "A1".repeat(32));
        let list = format!("{one}  a.zip\n{two} *b.zip\n{one}  twice\n{two}  twice\nff  short\n");
        let of = |file| sum_of(list.as_bytes(), file);
        assert_eq!(of("a.zip"), Some([0x0f; 32]));
        assert_eq!(of("b.zip"), Some([0xa1; 32]));
        for file in ["zip", "c.zip", "twice", "short", ""] {
            assert_eq!(of(file), None, "{file}");
        }
        assert_eq!(sum_of(b"\xff\xfe", "a.zip"), None);
        assert_eq!(hexadecimal(&[0x0f; 32]), one);
    }
}
