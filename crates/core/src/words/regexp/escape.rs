//! Text after a backslash, inside and outside of brackets.

use super::invalid_regexp::InvalidRegexp;

pub(super) enum Escape {
    Character(char),
    /// In the syntax of the crate `regex`, valid inside brackets too.
    Class(String),
}

/// Parses an escape at the start of `text`, and returns it with the rest.
pub(super) fn escape(text: &str) -> Result<(Escape, &str), InvalidRegexp> {
    let mut characters = text.chars();
    characters.next();
    let Some(letter) = characters.next() else {
        return Err(InvalidRegexp::syntax("trailing backslash", text));
    };
    let rest = characters.as_str();
    if let Some(class) = perl_class(letter) {
        return Ok((Escape::Class(class.to_owned()), rest));
    }
    if matches!(letter, 'p' | 'P') {
        return unicode_class(text, letter == 'P', rest);
    }
    let (character, rest) = character(text, letter, rest)?;
    Ok((Escape::Character(character), rest))
}

/// These classes contain only ASCII in Go.
fn perl_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        _ => return None,
    })
}

/// Parses `\pL`, `\p{Greek}` or `\p{^Greek}`; the compiler decides whether the class exists.
fn unicode_class<'a>(
    text: &'a str,
    negated: bool,
    rest: &'a str,
) -> Result<(Escape, &'a str), InvalidRegexp> {
    let invalid = || InvalidRegexp::syntax("invalid Unicode class", text);
    let (name, rest) = if let Some(inside) = rest.strip_prefix('{') {
        inside.split_once('}').ok_or_else(invalid)?
    } else {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        rest.split_at(length)
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_letter) {
        return Err(invalid());
    }
    let letter = if negated { 'P' } else { 'p' };
    Ok((Escape::Class(format!("\\{letter}{{{name}}}")), rest))
}

fn character<'a>(
    text: &'a str,
    letter: char,
    rest: &'a str,
) -> Result<(char, &'a str), InvalidRegexp> {
    let invalid = || {
        let end = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
        InvalidRegexp::syntax("invalid escape sequence", &text[..end])
    };
    let simple = match letter {
        'a' => '\x07',
        'f' => '\x0C',
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'v' => '\x0B',
        'x' => return hexadecimal(rest).ok_or_else(invalid),
        // A single digit other than zero would be a reference to a group.
        '0' => return Ok(octal(&text[1..])),
        '1'..='7' if rest.starts_with(|next: char| next.is_digit(8)) => {
            return Ok(octal(&text[1..]));
        }
        punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => {
            punctuation
        }
        _ => return Err(invalid()),
    };
    Ok((simple, rest))
}

/// Up to three octal digits.
fn octal(digits: &str) -> (char, &str) {
    let length = digits
        .bytes()
        .take(3)
        .take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (digits, rest) = digits.split_at(length.count());
    let value = digits
        .bytes()
        .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    // At most 0o777; all these values are characters.
    (char::from_u32(value).unwrap_or_default(), rest)
}

/// Parses `41` or `{41}`, after `\x`.
fn hexadecimal(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => text.split_at_checked(2)?,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    Some((character, rest))
}
