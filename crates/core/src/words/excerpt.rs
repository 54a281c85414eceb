//! External text, shortened and escaped for a log line or an operator.

/// Returns the beginning of `text` as one line of at most about `longest` characters.
///
/// Escapes invisible characters, characters that change the text direction, and line breaks. A text that is cut ends
/// with `…`.
pub fn excerpt(text: &str, longest: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for character in text.trim().chars() {
        if length >= longest {
            shown.push('…');
            break;
        }
        let escaped = character.escape_debug();
        if escaped.len() == 1 || matches!(character, '"' | '\'' | '\\') {
            shown.push(character);
            length += 1;
        } else {
            length += escaped.len();
            shown.extend(escaped);
        }
    }
    shown
}

/// Cuts a text to `longest` bytes and adds `…`; replaces matching characters by a blank.
pub(crate) fn cut(text: &str, longest: usize, is_replaced: fn(char) -> bool) -> String {
    let (kept, rest) = text.split_at(text.floor_char_boundary(longest));
    let mut kept = kept.replace(is_replaced, " ");
    if !rest.is_empty() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_visible_text_is_unchanged() {
        assert_eq!(excerpt(" \"a\" \\ 'b' ü\n", 40), "\"a\" \\ 'b' ü");
    }

    #[test]
    fn escapes_control_characters_and_cuts_long_text() {
        let hostile = "a\nb\r\u{1b}[2J\u{202e}c\0";
        assert_eq!(excerpt(hostile, 99), "a\\nb\\r\\u{1b}[2J\\u{202e}c\\0");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc", 3), "abc");
        let long = excerpt(&"\n".repeat(1 << 20), 100);
        assert!(long.chars().count() <= 102, "{}", long.len());
    }
}
