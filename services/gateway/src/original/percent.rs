//! Percent-decoding of paths and queries.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Meaning of `+`: a blank in queries, itself in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    Blank,
    Itself,
}

/// Decodes `text`; `None` if a `%` is not followed by two hexadecimal digits. Bytes that are not UTF-8 become
/// U+FFFD, which no name contains.
pub(crate) fn decode(text: &str, plus: Plus) -> Option<String> {
    // The library keeps text that is not an escape as it is.
    let is_whole = |behind: &str| {
        let digits = behind.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    let text = match plus {
        Plus::Blank => Cow::Owned(text.replace('+', " ")),
        Plus::Itself => Cow::Borrowed(text),
    };
    let decoded = percent_decode_str(&text).decode_utf8_lossy();
    Some(decoded.into_owned())
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
