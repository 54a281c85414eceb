//! Text that is fit for a terminal.

use std::borrow::Cow;

/// `text` with everything escaped that a terminal would obey instead of showing. Texts of a server may hold anything.
/// Ends of lines and tabs stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |letter| {
        steers_terminal(letter) && !matches!(letter, '\n' | '\t')
    })
}

/// Like the text above, for a cell of a table: ends of lines and tabs are escaped too.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    escape(text, steers_terminal)
}

/// Control characters, and characters that turn the direction of writing.
fn steers_terminal(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_escaped(letter) {
            // `\u{1b}`, and `\n`, `\r`, `\t` as they are usually written.
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// `text` with line ends instead of blanks, so that no line is longer than `width`, as far as words allow.
/// Lines that fit stay as they are.
pub(super) fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| wrap_line(line, width));
    lines.collect::<Vec<_>>().join("\n")
}

/// Blanks where a line is broken, and at its end, are left out.
fn wrap_line(line: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(line.len());
    let (mut used, mut blanks) = (0, 0);
    for (index, word) in line.split(' ').enumerate() {
        if index > 0 {
            blanks += 1;
        }
        if word.is_empty() {
            continue;
        }
        let length = word.chars().count();
        if used > 0 && used + blanks + length > width {
            wrapped.push('\n');
            used = 0;
        } else {
            wrapped.extend(std::iter::repeat_n(' ', blanks));
            used += blanks;
        }
        wrapped.push_str(word);
        used += length;
        blanks = 0;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_terminal_control_characters() {
        let text = "a\tb\r\nc\u{1b}[31m\u{9b}1m\u{7f}é\u{202e}x\0";
        assert_eq!(
            printable(text),
            "a\tb\\r\nc\\u{1b}[31m\\u{9b}1m\\u{7f}é\\u{202e}x\\u{0}"
        );
        assert_eq!(on_one_line("a\tb\nc"), "a\\tb\\nc");
    }

    #[test]
    fn lines_are_broken_between_words() {
        let cases = [
            ("", ""),
            ("short one", "short one"),
            ("one two three four", "one two\nthree four"),
            ("  indented   wide", "  indented\nwide"),
            ("averyveryverylongword", "averyveryverylongword"),
            ("a averyveryverylongword b", "a\naveryveryverylongword\nb"),
            ("one\n\n  two", "one\n\n  two"),
            ("ééééé ééééé", "ééééé\nééééé"),
        ];
        for (text, expected) in cases {
            assert_eq!(wrap(text, 10), expected, "{text:?}");
        }
    }
}
