//! Texts of other programs that are shown in full.

use std::fmt;

use crate::text::{Foreign, SHOWN};

/// Most bytes of a text that are shown at all. REST answers with shorter errors and plans, apart from a few.
const MOST: usize = 256 * 1024;

/// Text of several lines: its beginning, and the rest behind a fold, which print opens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Long<'a>(pub(crate) &'a str);

impl fmt::Display for Long<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (begin, rest) = self.0.split_at(self.0.floor_char_boundary(SHOWN));
        write!(f, "<pre>{}</pre>", Foreign(begin))?;
        if rest.is_empty() {
            return Ok(());
        }
        let (mut shown, hidden) = rest.split_at(rest.floor_char_boundary(MOST));
        let bytes = rest.len();
        write!(
            f,
            "<details class=\"fold\"><summary>{bytes} more bytes</summary><pre>"
        )?;
        while !shown.is_empty() {
            let (part, next) = shown.split_at(shown.floor_char_boundary(SHOWN));
            write!(f, "{}", Foreign(part))?;
            shown = next;
        }
        if !hidden.is_empty() {
            let bytes = hidden.len();
            write!(f, "<span class=\"cut\"> … {bytes} more bytes</span>")?;
        }
        f.write_str("</pre></details>")
    }
}

impl askama::filters::HtmlSafe for Long<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_folded_and_keeps_every_byte() {
        assert_eq!(
            Long("a\n<b>").to_string(),
            "<pre><bdi>a\n&lt;b&gt;</bdi></pre>"
        );
        let shown = Long(&"ä".repeat(5000)).to_string();
        assert_eq!(shown.matches('ä').count(), 5000);
        assert!(
            shown.contains("<summary>5904 more bytes</summary>"),
            "{shown}"
        );
        let huge = Long(&"x".repeat(SHOWN + MOST + 7)).to_string();
        assert!(huge.ends_with("… 7 more bytes</span></pre></details>"));
    }
}
