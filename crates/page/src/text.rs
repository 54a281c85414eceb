//! Text of other programs, as text.
//!
//! Names, tags, keys, log lines, values of plans and errors come from outside. Askama escapes markup; here, characters
//! that a reader cannot see or that turn lines around become words, and long texts end early.

use std::fmt;

/// Longest foreign text that is shown at once, in bytes.
pub(crate) const SHOWN: usize = 4096;

/// Text of another program, for a template: escaped, isolated from the direction of its surroundings, and with
/// characters that cannot be seen as words such as `U+202E`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign<'a>(pub(crate) &'a str);

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.floor_char_boundary(SHOWN);
        f.write_str("<bdi>")?;
        write_visible(f, &self.0[..end])?;
        if end < self.0.len() {
            write!(
                f,
                "<span class=\"cut\"> … {} more bytes</span>",
                self.0.len() - end
            )?;
        }
        f.write_str("</bdi>")
    }
}

impl askama::filters::HtmlSafe for Foreign<'_> {}

/// Text of another program within an attribute: escaped, with characters that cannot be seen as words such as `U+202E`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute<'a>(pub(crate) &'a str);

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.floor_char_boundary(SHOWN);
        write_escaped(f, &self.0[..end], |f, c| {
            write!(f, "U+{:04X}", u32::from(c))
        })
    }
}

impl askama::filters::HtmlSafe for Attribute<'_> {}

/// HTML that templates of this crate have made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Markup(pub(crate) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::filters::HtmlSafe for Markup {}

/// `text` with markup and invisible characters replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let _infallible = write_visible(&mut shown, text);
    shown
}

fn write_visible(to: &mut impl fmt::Write, text: &str) -> fmt::Result {
    write_escaped(to, text, |to, c| {
        write!(to, "<i class=\"code\">U+{:04X}</i>", u32::from(c))
    })
}

/// Writes `text` with markup escaped, and each invisible character by `invisible`.
fn write_escaped<W: fmt::Write>(
    to: &mut W,
    text: &str,
    invisible: impl Fn(&mut W, char) -> fmt::Result,
) -> fmt::Result {
    for c in text.chars() {
        match c {
            '&' => to.write_str("&amp;")?,
            '<' => to.write_str("&lt;")?,
            '>' => to.write_str("&gt;")?,
            '"' => to.write_str("&quot;")?,
            '\'' => to.write_str("&#39;")?,
            '\n' | '\t' => to.write_char(c)?,
            c if is_invisible(c) => invisible(to, c)?,
            c => to.write_char(c)?,
        }
    }
    Ok(())
}

/// Control characters, marks of direction, and characters without width or shape; the same as in `log.js`.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters of the expression `INVISIBLE` in `log.js`, as first and last of each range.
    fn of_script() -> Vec<(u32, u32)> {
        let script = include_str!("../assets/log.js");
        let (_, class) = script.split_once("INVISIBLE = /[\\p{Cc}\\u").unwrap();
        let (class, _) = class.split_once("]/gu").unwrap();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut goes_on = false;
        for part in class.split("\\u") {
            let number = part.trim_end_matches('-').trim_matches(['{', '}']);
            let number = u32::from_str_radix(number, 16).unwrap();
            match ranges.last_mut().filter(|_| goes_on) {
                Some((_, last)) => *last = number,
                None => ranges.push((number, number)),
            }
            goes_on = part.ends_with('-');
        }
        ranges
    }

    #[test]
    fn the_same_characters_are_invisible_in_logs_that_scripts_follow() {
        let ranges = of_script();
        assert!(ranges.len() > 10, "{ranges:?}");
        for c in '\0'..=char::MAX {
            let is_in = |(first, last): &(u32, u32)| (*first..=*last).contains(&u32::from(c));
            let expected = c.is_control() || ranges.iter().any(is_in);
            assert_eq!(is_invisible(c), expected, "{:04X}", u32::from(c));
        }
    }

    #[test]
    fn characters_without_a_shape_become_words() {
        for c in ['\u{ad}', '\u{2800}', '\u{3164}', '\u{fe0f}', '\u{e0100}'] {
            let shown = Foreign(&format!("a{c}b")).to_string();
            let code = u32::from(c);
            let expected = format!("<bdi>a<i class=\"code\">U+{code:04X}</i>b</bdi>");
            assert_eq!(shown, expected);
        }
    }
}
