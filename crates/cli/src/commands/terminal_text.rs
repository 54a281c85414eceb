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
}
