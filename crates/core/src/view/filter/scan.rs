//! The syntax that all versions of Consul share: strings, brackets, and binary operators.

use super::invalid_filter::InvalidFilter;

/// Shape of a filter.
pub(super) struct Scanned {
    /// Sum of 4 to the power of the depth of each byte.
    pub(super) work: u64,
    /// Sum of 8 to the power of the depth of each byte.
    pub(super) failing_work: u64,
    /// Character of the innermost parenthesis, from 1.
    pub(super) deepest: usize,
}

/// The last part, as far as the right operand of an operator depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// An operator that takes any word to its right as a value.
    TakesValue,
    /// A further word that requires a right operand, unless the word is a value.
    Connects,
    /// Any other part.
    Complete,
}

struct Scan {
    open: Vec<(char, usize)>,
    /// Parentheses and braces among the open brackets.
    depth: u32,
    /// The last part and the character where it begins.
    last: (Part, usize),
    deepest: (u32, usize),
}

/// Scans a filter whose parentheses may be nested `limit` deep. A string ends with the next quote of its kind,
/// because Consul has no escape for quotes.
pub(super) fn scan(filter: &str, limit: u32) -> Result<Scanned, InvalidFilter> {
    let mut scan = Scan {
        open: Vec::new(),
        depth: 0,
        last: (Part::Complete, 0),
        deepest: (0, 1),
    };
    let (mut work, mut failing_work) = (0_u64, 0_u64);
    let mut rest = filter;
    let mut position = 1;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' | '`' => string(rest, character, position)?,
            character if is_word(character) => {
                rest.find(|next| !is_word(next)).unwrap_or(rest.len())
            }
            '=' | '!' => rest
                .find(|next| !matches!(next, '=' | '!'))
                .unwrap_or(rest.len()),
            _ => character.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        scan.take(character, part, position, limit)?;
        let bytes = u64::try_from(length).unwrap_or(u64::MAX);
        let times = |base: u64| bytes.saturating_mul(base.saturating_pow(scan.depth));
        work = work.saturating_add(times(4));
        failing_work = failing_work.saturating_add(times(8));
        position += part.chars().count();
        rest = after;
    }
    scan.closes_part()?;
    if let Some(&(bracket, position)) = scan.open.last() {
        return Err(InvalidFilter::OpenBracket { bracket, position });
    }
    Ok(Scanned {
        work,
        failing_work,
        deepest: scan.deepest.1,
    })
}

/// Bytes of the string with which `rest` begins.
fn string(rest: &str, quotes: char, position: usize) -> Result<usize, InvalidFilter> {
    let end = rest[1..].find(quotes);
    end.map(|end| end + 2)
        .ok_or(InvalidFilter::OpenString { position })
}

fn is_word(character: char) -> bool {
    !character.is_whitespace() && !"\"`()[]{}=!".contains(character)
}

impl Scan {
    fn take(
        &mut self,
        first: char,
        part: &str,
        position: usize,
        limit: u32,
    ) -> Result<(), InvalidFilter> {
        match first {
            '(' | '{' => {
                self.depth += 1;
                if self.depth > limit {
                    return Err(InvalidFilter::TooDeep { limit, position });
                }
                if self.depth > self.deepest.0 {
                    self.deepest = (self.depth, position);
                }
                self.opens(first, position);
            }
            '[' => self.opens(first, position),
            ')' | '}' => {
                self.closes_part()?;
                self.closes(first, position)?;
                self.depth -= 1;
            }
            ']' => self.closes(first, position)?,
            character if character.is_whitespace() => {}
            _ => self.last = (self.kind(part), position),
        }
        Ok(())
    }

    /// Kind of a word, a string or an operator. Any word to the right of an operator is a value.
    fn kind(&self, part: &str) -> Part {
        match part {
            part if part.starts_with(['=', '!']) => Part::TakesValue,
            _ if self.last.0 == Part::TakesValue => Part::Complete,
            "contains" | "matches" | "in" => Part::TakesValue,
            "and" | "or" | "not" | "is" => Part::Connects,
            _ => Part::Complete,
        }
    }

    fn opens(&mut self, bracket: char, position: usize) {
        self.open.push((bracket, position));
        self.last = (Part::Complete, position);
    }

    fn closes(&mut self, bracket: char, position: usize) -> Result<(), InvalidFilter> {
        let opening = match bracket {
            ')' => '(',
            ']' => '[',
            _ => '{',
        };
        if self.open.last().is_none_or(|(open, _)| *open != opening) {
            return Err(InvalidFilter::ClosesNothing { bracket, position });
        }
        self.open.pop();
        self.last = (Part::Complete, position);
        Ok(())
    }

    /// Refuses an expression that ends after an operator.
    fn closes_part(&self) -> Result<(), InvalidFilter> {
        match self.last {
            (Part::Complete, _) => Ok(()),
            (Part::TakesValue | Part::Connects, position) => {
                Err(InvalidFilter::OpenOperator { position })
            }
        }
    }
}
