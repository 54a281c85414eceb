//! Covers secrets in the source lines that problems show.
//!
//! A file that parses is masked by its tree. If it does not parse, only the text is known; the rule for that
//! errs towards covering too much.

use cts_core::hidden::{is_secret_name, secret_places};
use cts_hcl1::{Body, Span, Value, ValueKind};

/// The keys that are shown of a block whose contents are covered, whatever they are called.
///
/// Such blocks are arguments of providers and backends and environments of processes, whose names cts does
/// not define, `webhook`, whose URL is often the secret itself, and `database`: its URL holds a password,
/// under a misspelt key as well.
fn shown_of(block: &str) -> Option<&'static [&'static str]> {
    const OF_OTHERS: &[&str] = &["alias", "auto_commit"];
    const OF_WEBHOOKS: &[&str] = &["timeout", "retries", "tls"];
    const BLOCKS: [(&str, &[&str]); 6] = [
        ("terraform_provider", OF_OTHERS),
        ("webhook", OF_WEBHOOKS),
        ("backend", OF_OTHERS),
        ("previous_backend", OF_OTHERS),
        ("task_env", OF_OTHERS),
        ("database", &["max_connections", "ca_cert"]),
    ];
    let of_block = |(known, _): &&(&str, _)| known.eq_ignore_ascii_case(block);
    BLOCKS.iter().find(of_block).map(|(_, shown)| *shown)
}

/// Whether text of any key looks like a URL with a secret in it, or like the URL of a database, where the
/// password may stand in any place.
pub(crate) fn may_hold_secret(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let is_database = text.split_once("://").is_some_and(|(scheme, _)| {
        let scheme = scheme.to_ascii_lowercase();
        scheme.ends_with("postgres") || scheme.ends_with("postgresql")
    });
    is_database || may_hold_password(&text) || !secret_places(&text).is_empty()
}

/// Whether a text that is one URL may have a password in it, whatever characters that has.
pub(crate) fn may_hold_password(text: &str) -> bool {
    let rest = text.split_once("://").map_or("", |(_scheme, rest)| rest);
    rest.rfind('@').is_some_and(|end| rest[..end].contains(':'))
}

/// Covers the secrets of a parsed file.
pub(crate) fn mask_tree(source: &mut [u8], body: &Body) {
    mask_body(source, body, None);
}

/// With `shown` everything is covered but the keys that it names.
fn mask_body(source: &mut [u8], body: &Body, shown: Option<&'static [&'static str]>) {
    for item in &body.items {
        let names = || item.keys.iter().map(|key| key.text.as_str());
        let outside = shown.filter(|shown| !names().any(|name| shown.contains(&name)));
        let secret = names().any(is_secret_name).then_some(&[][..]);
        let inside = names().find_map(shown_of);
        mask_value(source, &item.value, outside.or(secret).or(inside));
    }
}

fn mask_value(source: &mut [u8], value: &Value, shown: Option<&'static [&'static str]>) {
    match &value.kind {
        ValueKind::Object(body) => mask_body(source, body, shown),
        ValueKind::List(values) => {
            for value in values {
                mask_value(source, value, shown);
            }
        }
        ValueKind::Null => {}
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) => {
            let text = source.get(value.span.clone());
            if shown.is_some() || text.is_some_and(may_hold_secret) {
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
    mask_urls(source);
    let last_brace = source.iter().rposition(|byte| *byte == b'{');
    let mut at = 0;
    while at < source.len() {
        let word = source[at..].iter().take_while(|b| is_word(**b)).count();
        if word == 0 {
            at += 1;
            continue;
        }
        let name = String::from_utf8_lossy(&source[at..at + word]).into_owned();
        at += word;
        if shown_of(&name).is_some() {
            // A file may name blocks over and over and open none; looking every time takes long.
            if last_brace.is_some_and(|last| at <= last) {
                at = cover_braces(source, at);
            }
        } else if is_secret_name(&name) {
            at = cover_assigned(source, at);
        }
    }
}

/// Covers URLs that may hold a password, each up to the next blank or quote.
fn mask_urls(source: &mut [u8]) {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    let mut at = 0;
    while at < source.len() {
        let length = source[at..].iter().take_while(|byte| !is_end(byte)).count();
        if may_hold_secret(&source[at..at + length]) {
            cover(source, at..at + length);
        }
        at += length.max(1);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || !byte.is_ascii()
}

/// Covers everything from the next `{` up to its `}` except line ends and punctuation.
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

/// Covers the value after `=` or `:`: a quoted string, a list or object up to its end, a heredoc (whose end
/// is unknown), else the rest of the line.
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
    let length = match rest.first() {
        Some(b'"') => quoted_length(rest),
        Some(b'[' | b'{' | b'<') => rest.len(),
        _ => rest.iter().take_while(|b| **b != b'\n').count(),
    };
    cover(source, start..start + length);
    start + length
}

/// Up to and with the closing quote; without one, to the end of the line.
fn quoted_length(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
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
                "x { key_passphrase = \"a\" api-key = \"b\" }",
                "x { key_passphrase = \"*\" api-key = \"*\" }",
            ),
            (
                "terraform_provider \"p\" { alias = \"a\" x = [\"b\", 1] }",
                "terraform_provider \"p\" { alias = \"a\" x = [\"*\", *] }",
            ),
            (
                "driver \"terraform\" { backend \"pg\" { conn = \"u:p\" } }",
                "driver \"terraform\" { backend \"pg\" { conn = \"***\" } }",
            ),
            (
                "Database { ulr = \"abc\" ca_cert = \"x\" max_connections = 5 y { z = 1 } }",
                "Database { ulr = \"***\" ca_cert = \"x\" max_connections = 5 y { z = * } }",
            ),
            ("database = \"abc\"", "database = \"***\""),
            (
                "x { a = \"http://u:p 'w<@h\" }",
                "x { a = \"****************\" }",
            ),
            (
                "x { a = \"https://t@h/x\" b = \"git::ssh://git@h/x?sshkey=k\" c = \"https://h/x@1?ref=a\" }",
                "x { a = \"*************\" b = \"***************************\" c = \"https://h/x@1?ref=a\" }",
            ),
            (
                "x { a = \"http://u:p@h\" b = \"git::ssh://git@h/x\" c = [\"postgres://h/d?password=p\"] }",
                "x { a = \"************\" b = \"git::ssh://git@h/x\" c = [\"*************************\"] }",
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
            (
                "database { url = \"x\" } a = \"b\"",
                "database { *** = \"*\" } a = \"b\"",
            ),
            (
                "databse { url = \"postgres://h\" } a = http://u:p@h, b = http://h:1",
                "databse { url = \"************\" } a = ************* b = http://h:1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(masked_text(text), expected);
        }
    }
}
