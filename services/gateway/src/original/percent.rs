//! Percent-decoding of paths and queries.

/// What `+` means: a blank in queries, itself in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    Blank,
    Itself,
}

/// Decodes `text`; `None` if a `%` is not followed by two hexadecimal digits. Bytes that are no UTF-8
/// become U+FFFD, which no name contains.
pub(crate) fn decode(text: &str, plus: Plus) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            b'+' if plus == Plus::Blank => b' ',
            byte => byte,
        });
    }
    Some(String::from_utf8_lossy(&decoded).into_owned())
}

fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_bytes() {
        let cases = [
            ("a%2Fb%2fc", Some("a/b/c")),
            ("%C3%A9t%c3%a9", Some("été")),
            ("a%ffb", Some("a\u{fffd}b")),
            ("a+b", Some("a+b")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%+1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text, Plus::Itself).as_deref(), expected, "{text}");
        }
        assert_eq!(decode("a+b%2B", Plus::Blank).as_deref(), Some("a b+"));
    }
}
