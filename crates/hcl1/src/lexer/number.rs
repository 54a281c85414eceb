//! Numbers: decimal, hexadecimal, octal, with fraction or exponent, and `-` directly before.
//!
//! A number may begin with its point only if nothing else is special about it: no sign, no exponent.
//!
//! A number reaches as far as a word would, so that `10s` or `1.2.3` is one wrong number with a
//! useful message instead of a number and a key.

use crate::ast::Number;

/// Reason why something that starts like a number is not one.
#[derive(Debug)]
pub(crate) struct NumberFault {
    /// Continues "found `x`, ".
    pub(crate) reason: &'static str,
    /// Hint; none if text was meant and quotes are missing.
    pub(crate) help: Option<&'static str>,
}

const NOT_A_NUMBER: NumberFault = NumberFault {
    reason: "which is not a number",
    help: None,
};

const BEYOND_64_BITS: NumberFault = NumberFault {
    reason: "expected an integer of at most 64 bits",
    help: Some("quote it if it is meant as text"),
};

/// Whether a number, right or wrong, starts the text.
pub(super) fn starts_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_prefix('.').unwrap_or(text);
    text.starts_with(|character: char| character.is_ascii_digit())
}

/// Reads the number at the begin of the text. Returns its length, too.
pub(super) fn number(text: &str) -> (usize, Result<Number, NumberFault>) {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let length = length(unsigned);
    let number = read(negative, &unsigned[..length]);
    (usize::from(negative) + length, number)
}

fn is_hexadecimal(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

pub(super) fn continues_word(character: char) -> bool {
    matches!(character, '_' | '-' | '.') || character.is_alphanumeric()
}

/// The length of everything that clings to the number.
fn length(text: &str) -> usize {
    let exponents = !is_hexadecimal(text);
    let mut before = '0';
    for (offset, character) in text.char_indices() {
        let sign = exponents && matches!(before, 'e' | 'E') && matches!(character, '+' | '-');
        if !sign && !continues_word(character) {
            return offset;
        }
        before = character;
    }
    text.len()
}

fn read(negative: bool, text: &str) -> Result<Number, NumberFault> {
    if is_hexadecimal(text) {
        return integer(negative, &text[2..], 16);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.strip_prefix('0') {
            Some(octal) if octal.contains(['8', '9']) => Err(NumberFault {
                reason: "expected octal digits after a leading zero",
                help: Some("remove the leading zero, or quote it if it is meant as text"),
            }),
            Some(octal) if !octal.is_empty() => integer(negative, octal, 8),
            _ => integer(negative, text, 10),
        };
    }
    if text.starts_with("0b") || text.starts_with("0B") {
        return Err(NumberFault {
            reason: "expected a decimal, hexadecimal or octal number",
            help: Some("there are no binary numbers; write it in decimal or with `0x`"),
        });
    }
    if text.starts_with("0o") || text.starts_with("0O") {
        return Err(NumberFault {
            reason: "expected a decimal, hexadecimal or octal number",
            help: Some("octal numbers are written with a leading zero only: `017`"),
        });
    }
    if text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'_')
    {
        return Err(NumberFault {
            reason: "expected digits only",
            help: Some("remove the `_`"),
        });
    }
    float(negative, text)
}

fn integer(negative: bool, digits: &str, radix: u32) -> Result<Number, NumberFault> {
    if digits.is_empty() {
        return Err(NumberFault {
            reason: "expected hexadecimal digits after `0x`",
            help: None,
        });
    }
    // `from_str_radix` would take a sign here.
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(NOT_A_NUMBER);
    }
    // With the sign, because the smallest integer has no positive counterpart.
    let signed = if negative {
        i64::from_str_radix(&format!("-{digits}"), radix)
    } else {
        i64::from_str_radix(digits, radix)
    };
    signed.map(Number::Integer).or(Err(BEYOND_64_BITS))
}

fn float(negative: bool, text: &str) -> Result<Number, NumberFault> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && (negative || exponent.is_some()) && all_digits(fraction) {
        return Err(NumberFault {
            reason: "expected a digit before the point",
            help: Some("write a `0` before the point"),
        });
    }
    if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(NOT_A_NUMBER);
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() {
            return Err(NumberFault {
                reason: "expected digits after the exponent sign `e`",
                help: None,
            });
        }
        if !all_digits(digits) {
            return Err(NOT_A_NUMBER);
        }
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Number::Float(if negative { -value } else { value })),
        Ok(_) => Err(NumberFault {
            reason: "expected a number that fits a 64-bit float",
            help: Some("quote it if it is meant as text"),
        }),
        Err(_) => Err(NOT_A_NUMBER),
    }
}
