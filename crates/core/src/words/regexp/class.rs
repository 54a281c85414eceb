//! Classes in brackets.

use std::fmt::Write as _;

use super::escape::{Escape, escape};
use super::invalid_regexp::InvalidRegexp;

const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Parses a class at the start of `text`. In the syntax of `regex`, brackets, `&&`, `--` and `~~` have a meaning
/// inside a class, so every character is written by its number.
pub(super) fn class(text: &str) -> Result<(String, &str), InvalidRegexp> {
    let missing = || InvalidRegexp::syntax("missing closing `]`", text);
    let mut output = String::from("[");
    let mut rest = &text[1..];
    if let Some(behind) = rest.strip_prefix('^') {
        output.push('^');
        rest = behind;
    }
    let mut first = true;
    loop {
        if !first && let Some(behind) = rest.strip_prefix(']') {
            output.push(']');
            return Ok((output, behind));
        }
        first = false;
        if let Some((name, behind)) = named(rest) {
            if !NAMES.contains(&name.trim_start_matches('^')) || name.starts_with("^^") {
                return Err(InvalidRegexp::syntax(
                    "there is no such class",
                    &rest[..name.len() + 4],
                ));
            }
            write_into(&mut output, format_args!("[:{name}:]"));
            rest = behind;
            continue;
        }
        let start = rest;
        let (least, behind) = match item(rest).ok_or_else(missing)?? {
            (Escape::Class(class), behind) => {
                output.push_str(&class);
                rest = behind;
                continue;
            }
            (Escape::Character(character), behind) => (character, behind),
        };
        rest = behind;
        let mut greatest = least;
        if let Some(behind) = rest.strip_prefix('-')
            && !behind.is_empty()
            && !behind.starts_with(']')
        {
            let range = |behind: &str| &start[..start.len() - behind.len()];
            (greatest, rest) = match item(behind).ok_or_else(missing)?? {
                (Escape::Character(character), behind) if character >= least => (character, behind),
                (_, behind) => return Err(InvalidRegexp::syntax("invalid range", range(behind))),
            };
        }
        let (least, greatest) = (u32::from(least), u32::from(greatest));
        write_into(
            &mut output,
            format_args!("\\x{{{least:X}}}-\\x{{{greatest:X}}}"),
        );
    }
}

/// The name in `[:name:]`, and the rest.
fn named(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("[:")?.split_once(":]")
}

/// One character or class; `None` at the end.
fn item(text: &str) -> Option<Result<(Escape, &str), InvalidRegexp>> {
    let character = text.chars().next()?;
    Some(if character == '\\' {
        escape(text)
    } else {
        Ok((Escape::Character(character), &text[character.len_utf8()..]))
    })
}

fn write_into(output: &mut String, arguments: std::fmt::Arguments<'_>) {
    output
        .write_fmt(arguments)
        .expect("writing into a string does not fail");
}
