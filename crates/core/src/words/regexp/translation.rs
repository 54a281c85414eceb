//! Translation from Go's syntax to that of the crate `regex`.

use std::collections::HashSet;

use super::class::class;
use super::escape::{Escape, escape};
use super::invalid_regexp::InvalidRegexp;

/// The largest count in `{…}`.
const MOST_REPEATED: u32 = 1000;

/// Returns an expression of the crate `regex` that matches the same texts. Groups do not capture.
pub(super) fn translate(text: &str) -> Result<String, InvalidRegexp> {
    let mut translation = Translation {
        rest: text,
        output: String::with_capacity(text.len() + 8),
        open: Vec::new(),
        names: HashSet::new(),
        before: Before::Nothing,
    };
    while !translation.rest.is_empty() {
        translation.step()?;
    }
    match translation.open.last() {
        Some(opening) => Err(InvalidRegexp::syntax("missing closing `)`", opening)),
        None => Ok(translation.output),
    }
}

/// Element to which a repetition operator would apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Repeatable,
    Repetition,
}

#[derive(Debug)]
struct Translation<'a> {
    rest: &'a str,
    output: String,
    /// The text from the start of each open group.
    open: Vec<&'a str>,
    names: HashSet<&'a str>,
    before: Before,
}

impl<'a> Translation<'a> {
    fn step(&mut self) -> Result<(), InvalidRegexp> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(());
        };
        match first {
            '(' => self.open_group(),
            ')' => self.close_group(),
            '|' => {
                self.copy(1);
                self.before = Before::Nothing;
                Ok(())
            }
            '[' => {
                let (written, rest) = class(self.rest)?;
                self.output.push_str(&written);
                self.rest = rest;
                self.before = Before::Repeatable;
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(1),
            '{' => {
                if let Some(length) = counted(self.rest)? {
                    self.repeat(length)
                } else {
                    self.literal('{');
                    Ok(())
                }
            }
            '\\' => self.escaped(),
            '.' | '^' | '$' => {
                self.copy(1);
                self.before = Before::Repeatable;
                Ok(())
            }
            other => {
                self.literal(other);
                Ok(())
            }
        }
    }

    /// Copies `length` bytes unchanged.
    fn copy(&mut self, length: usize) {
        let (copied, rest) = self.rest.split_at(length);
        self.output.push_str(copied);
        self.rest = rest;
    }

    fn literal(&mut self, character: char) {
        self.rest = &self.rest[character.len_utf8()..];
        self.push_literal(character);
    }

    fn push_literal(&mut self, character: char) {
        self.output
            .push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
        self.before = Before::Repeatable;
    }

    fn repeat(&mut self, length: usize) -> Result<(), InvalidRegexp> {
        let lazy = usize::from(self.rest[length..].starts_with('?'));
        let operator = &self.rest[..length + lazy];
        match self.before {
            Before::Nothing => Err(InvalidRegexp::syntax("nothing to repeat before", operator)),
            Before::Repetition => Err(InvalidRegexp::syntax(
                "a repetition cannot be repeated",
                operator,
            )),
            Before::Repeatable => {
                self.copy(length + lazy);
                self.before = Before::Repetition;
                Ok(())
            }
        }
    }

    fn escaped(&mut self) -> Result<(), InvalidRegexp> {
        if let Some(quoted) = self.rest.strip_prefix(r"\Q") {
            let (literal, rest) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            for character in literal.chars() {
                self.push_literal(character);
            }
            self.rest = rest;
            return Ok(());
        }
        let assertion = match self.rest.as_bytes().get(1) {
            Some(b'A') => Some(r"\A"),
            Some(b'z') => Some(r"\z"),
            // In Go only ASCII letters and digits form words.
            Some(b'b') => Some(r"(?-u:\b)"),
            Some(b'B') => Some(r"(?-u:\B)"),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.output.push_str(assertion);
            self.rest = &self.rest[2..];
            self.before = Before::Repeatable;
            return Ok(());
        }
        let (escape, rest) = escape(self.rest)?;
        self.rest = rest;
        match escape {
            Escape::Character(character) => self.push_literal(character),
            Escape::Class(class) => {
                self.output.push_str(&class);
                self.before = Before::Repeatable;
            }
        }
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), InvalidRegexp> {
        let opening = self.rest;
        let inside = if let Some(special) = self.rest.strip_prefix("(?") {
            if let Some(named) = special
                .strip_prefix("P<")
                .or_else(|| special.strip_prefix('<'))
            {
                self.named_group(named)?
            } else {
                return self.flags(special);
            }
        } else {
            &self.rest[1..]
        };
        self.output.push_str("(?:");
        self.rest = inside;
        self.open.push(opening);
        self.before = Before::Nothing;
        Ok(())
    }

    fn named_group(&mut self, named: &'a str) -> Result<&'a str, InvalidRegexp> {
        let is_word = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        let (name, inside) = named
            .split_once('>')
            .filter(|(name, _)| is_word(name))
            .ok_or_else(|| InvalidRegexp::syntax("invalid named group", self.rest))?;
        if !self.names.insert(name) {
            return Err(InvalidRegexp::syntax(
                "a group of this name exists already",
                name,
            ));
        }
        Ok(inside)
    }

    /// Parses `(?i)`, which applies up to the end of the enclosing group, or `(?i:`, which opens a group.
    fn flags(&mut self, special: &'a str) -> Result<(), InvalidRegexp> {
        let invalid = || InvalidRegexp::syntax("invalid or unsupported group syntax", self.rest);
        let end = special.find([':', ')']).ok_or_else(invalid)?;
        let mut flags = [('i', None), ('m', None), ('s', None), ('U', None)];
        let mut on = true;
        let mut behind_sign = false;
        for character in special[..end].chars() {
            if character == '-' && on {
                (on, behind_sign) = (false, true);
                continue;
            }
            let flag = flags.iter_mut().find(|(name, _)| *name == character);
            flag.ok_or_else(invalid)?.1 = Some(on);
            behind_sign = false;
        }
        if behind_sign {
            return Err(invalid());
        }
        let names = |wanted: bool| {
            let flags = flags.iter().filter(move |flag| flag.1 == Some(wanted));
            flags.map(|flag| flag.0).collect::<String>()
        };
        let (set, unset) = (names(true), names(false));
        let sign = if unset.is_empty() { "" } else { "-" };
        let opens = special.as_bytes().get(end) == Some(&b':');
        if opens {
            self.output.extend(["(?", &set, sign, &unset, ":"]);
            self.open.push(self.rest);
        } else if !(set.is_empty() && unset.is_empty()) {
            self.output.extend(["(?", &set, sign, &unset, ")"]);
        }
        self.rest = &special[end + 1..];
        self.before = Before::Nothing;
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), InvalidRegexp> {
        if self.open.pop().is_none() {
            return Err(InvalidRegexp::syntax("unexpected `)`", self.rest));
        }
        self.copy(1);
        self.before = Before::Repeatable;
        Ok(())
    }
}

/// The length of `{2}`, `{2,}` or `{2,5}`; any other text that begins with a brace is literal.
fn counted(text: &str) -> Result<Option<usize>, InvalidRegexp> {
    // Scans only the digits and commas: the next `}` may be far away, and the scan would start again at every brace.
    let is_inside = |character: char| character.is_ascii_digit() || character == ',';
    let behind = text[1..].trim_start_matches(is_inside);
    let inside = &text[1..text.len() - behind.len()];
    if !behind.starts_with('}') {
        return Ok(None);
    }
    let (least, most) = match inside.split_once(',') {
        Some((least, most)) => (least, most),
        None => (inside, inside),
    };
    let is_number = |text: &str| {
        let leading_zero = text.len() > 1 && text.starts_with('0');
        !text.is_empty() && !leading_zero && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(least) || !(most.is_empty() || is_number(most)) {
        return Ok(None);
    }
    let length = inside.len() + 2;
    let invalid = || InvalidRegexp::syntax("invalid count of repetitions", &text[..length]);
    let read = |text: &str| {
        let number = text.parse().ok();
        let number = number.filter(|number: &u32| *number <= MOST_REPEATED);
        number.ok_or_else(invalid)
    };
    let least = read(least)?;
    if !most.is_empty() && read(most)? < least {
        return Err(invalid());
    }
    Ok(Some(length))
}
