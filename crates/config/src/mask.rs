//! Covers secrets in the source lines that problems show.
//!
//! A file that parses is masked by its tree. Of one that does not, only the text is known; there the
//! rule errs towards covering too much.

use cts_hcl1::{Body, Span, Value, ValueKind};

/// Whether the value of a key of this name is not to be shown.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 5] = ["token", "passw", "secret", "credential", "apikey"];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with("_key")
}

/// Whether a block of this name has contents that no list of names can judge: arguments of providers
/// and backends, and environments of processes.
fn is_free_form(name: &str) -> bool {
    ["terraform_provider", "backend", "task_env"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// Covers the secrets of a parsed file.
pub(crate) fn mask_tree(source: &mut [u8], body: &Body) {
    mask_body(source, body, false);
}

fn mask_body(source: &mut [u8], body: &Body, everything: bool) {
    for item in &body.items {
        let names = || item.keys.iter().map(|key| key.text.as_str());
        let harmless = names().any(|name| matches!(name, "alias" | "auto_commit"));
        let inside = (everything && !harmless) || names().any(is_free_form);
        mask_value(source, &item.value, inside, names().any(is_secret_name));
    }
}

fn mask_value(source: &mut [u8], value: &Value, everything: bool, secret: bool) {
    match &value.kind {
        ValueKind::Object(body) => mask_body(source, body, everything || secret),
        ValueKind::List(values) => {
            for value in values {
                mask_value(source, value, everything, secret);
            }
        }
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) => {
            if everything || secret {
                cover(source, value.span.clone());
            }
        }
    }
}

fn cover(source: &mut [u8], span: Span) {
    if let Some(bytes) = source.get_mut(span) {
        for byte in bytes {
            if !matches!(*byte, b'\n' | b'\r' | b'"') {
                *byte = b'*';
            }
        }
    }
}

/// Covers what looks like a secret in text that could not be parsed.
pub(crate) fn mask_text(source: &mut [u8]) {
    let mut at = 0;
    while at < source.len() {
        let word = source[at..].iter().take_while(|b| is_word(**b)).count();
        if word == 0 {
            at += 1;
            continue;
        }
        let name = String::from_utf8_lossy(&source[at..at + word]).into_owned();
        at += word;
        if is_free_form(&name) {
            at = cover_braces(source, at);
        } else if is_secret_name(&name) {
            at = cover_assigned(source, at);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || !byte.is_ascii()
}

/// Covers everything behind the next `{` up to its `}` except line ends and punctuation.
fn cover_braces(source: &mut [u8], from: usize) -> usize {
    let Some(open) = source[from..].iter().position(|b| *b == b'{') else {
        return from;
    };
    let mut depth = 0_usize;
    for (at, byte) in source.iter_mut().enumerate().skip(from + open) {
        match *byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b'\n' | b'\r' | b'"' | b'=' | b' ' | b'\t' | b',' => {}
            _ => *byte = b'*',
        }
    }
    source.len()
}

/// Covers the value behind `=` or `:`: a quoted string, a list or object up to its end, a heredoc
/// (which ends nobody knows where), else the rest of the line.
fn cover_assigned(source: &mut [u8], from: usize) -> usize {
    let blanks = |at: usize| {
        let rest = source[at..].iter();
        at + rest
            .take_while(|b| matches!(b, b' ' | b'\t' | b'"'))
            .count()
    };
    let sign = blanks(from);
    if !matches!(source.get(sign), Some(b'=' | b':')) {
        return from;
    }
    let start = sign
        + 1
        + source[sign + 1..]
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
    let rest = &source[start..];
    let line = rest.iter().take_while(|b| **b != b'\n').count();
    let length = match rest.first() {
        Some(b'"') => closing_quote(rest).unwrap_or(line).min(line),
        Some(b'[' | b'{' | b'<') => rest.len(),
        _ => line,
    };
    cover(source, start..start + length);
    start + length
}

fn closing_quote(rest: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked_text(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        mask_text(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn masked_tree(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let body = cts_hcl1::parse(&bytes).unwrap();
        mask_tree(&mut bytes, &body);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_tree_shows_no_token_password_provider_or_backend_value() {
        let cases = [
            (
                "consul { token = \"abc\" address = \"x\" }",
                "consul { token = \"***\" address = \"x\" }",
            ),
            ("auth { Password = 12 }", "auth { Password = ** }"),
            (
                "terraform_provider \"p\" { alias = \"a\" x = [\"b\", 1] }",
                "terraform_provider \"p\" { alias = \"a\" x = [\"*\", *] }",
            ),
            (
                "driver \"terraform\" { backend \"pg\" { conn = \"u:p\" } }",
                "driver \"terraform\" { backend \"pg\" { conn = \"***\" } }",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(masked_tree(text), expected);
        }
    }

    #[test]
    fn text_that_does_not_parse_is_covered_from_the_key_on() {
        let cases = [
            ("token = \"abc\" port = ", "token = \"***\" port = "),
            (
                "a = 1\n\"password\" = abc def\nb = 2",
                "a = 1\n\"password\" = *******\nb = 2",
            ),
            ("api_key = \"unclosed\nb = 2", "api_key = \"********\nb = 2"),
            ("tokens = [\n\"a\",\n", "tokens = *\n\"*\"*\n"),
            (
                "terraform_provider \"p\" { x = \"y\" } a = \"b\"",
                "terraform_provider \"p\" { * = \"*\" } a = \"b\"",
            ),
            ("token", "token"),
        ];
        for (text, expected) in cases {
            assert_eq!(masked_text(text), expected);
        }
    }
}
