//! Lines that are broken between words.

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
