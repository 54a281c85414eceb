//! The differences that are meant to be: docs/compatibility.md has the reasons.

use cts_hcl1::{Body, Span, Value, ValueKind, parse};

use crate::compare::{Difference, Kind};

/// The name of a difference in docs/compatibility.md; `None` if the difference should not exist.
pub(crate) fn deliberate(difference: &Difference, document: &[u8]) -> Option<&'static str> {
    let source = String::from_utf8_lossy(document);
    match (difference.kind, parse(document)) {
        (Kind::OnlyTheirs, Err(error)) => {
            only_theirs(error.message(), &source[error.span()]).or_else(|| open_heredoc(&source))
        }
        (_, Ok(body)) => {
            let mut heredocs = Vec::new();
            collect_heredocs(&body, &source, &mut heredocs);
            heredocs
                .into_iter()
                .find_map(|span| heredoc(&source, &span))
                .or_else(|| only_ours(difference, &source))
        }
        _ => None,
    }
}

fn only_theirs(message: &str, found: &str) -> Option<&'static str> {
    let number_faults = [
        "which is not a number",
        "expected digits only",
        "expected octal digits",
        "expected hexadecimal digits",
        "expected a decimal, hexadecimal or octal number",
        "expected digits after the exponent",
    ];
    if number_faults.iter().any(|fault| message.contains(fault)) {
        return Some("the next key or value may cling to a number");
    }
    if message.contains("which is no Unicode character") {
        return Some("escapes of surrogates and beyond U+10FFFF become U+FFFD");
    }
    if message.contains("expected an integer of at most 64 bits") {
        // Else both refuse it.
        return Some("an integer beyond 64 bits is text if its key had a text before");
    }
    if message.contains("string is not UTF-8 text") {
        return Some("byte escapes need not form UTF-8");
    }
    (found == "}").then_some("a wrong value before `}` is dropped without a message")
}

const FIRST_COLUMN: &str = "`<<-` does not end at a marker in the first column";

/// The difference for a document that cts refuses because it ends a heredoc earlier.
fn open_heredoc(source: &str) -> Option<&'static str> {
    let mut openings = source.split("<<-").skip(1);
    let marked = openings.any(|behind| {
        let mut lines = behind.lines();
        let marker = lines.next().unwrap_or_default().trim_end();
        lines.any(|line| line.trim_end() == marker)
    });
    marked.then_some(FIRST_COLUMN)
}

/// The difference for a heredoc that cts has read.
fn heredoc(source: &str, span: &Span) -> Option<&'static str> {
    let text = &source[span.clone()];
    let closing = text.rsplit('\n').next().unwrap_or_default();
    if text.starts_with("<<-") && !closing.starts_with(|first: char| first.is_ascii_whitespace()) {
        return Some(FIRST_COLUMN);
    }
    let behind = &source[span.end..];
    let before_or_behind =
        closing.starts_with('\r') || (behind.starts_with('\r') && !behind.starts_with("\r\n"));
    before_or_behind.then_some("a lone carriage return beside a closing marker changes the text")
}

fn only_ours(difference: &Difference, source: &str) -> Option<&'static str> {
    if difference.kind == Kind::OnlyOursBreaks
        && difference.cause.contains("unquote")
        && source.contains('\u{fffd}')
    {
        return Some("U+FFFD inside `${ }` makes it panic");
    }
    let letters = source
        .chars()
        .any(|character| !character.is_ascii() && character.is_alphanumeric());
    let behind_a_word = ["illegal char", "got: BOOL", "got: NUMBER"];
    let stops_there = behind_a_word
        .iter()
        .any(|cause| difference.cause.contains(cause));
    (difference.kind == Kind::OnlyOurs && stops_there && letters)
        .then_some("keys may not hold letters of the categories Nl, No and Other_Alphabetic")
}

fn collect_heredocs(body: &Body, source: &str, found: &mut Vec<Span>) {
    for item in &body.items {
        collect_from_value(&item.value, source, found);
    }
}

fn collect_from_value(value: &Value, source: &str, found: &mut Vec<Span>) {
    match &value.kind {
        ValueKind::String(_) if source[value.span.clone()].starts_with("<<") => {
            found.push(value.span.clone());
        }
        ValueKind::List(elements) => {
            for element in elements {
                collect_from_value(element, source, found);
            }
        }
        ValueKind::Object(body) => collect_heredocs(body, source, found),
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(kind: Kind, cause: &str, document: &str) -> Option<&'static str> {
        let cause = cause.to_owned();
        deliberate(&Difference { kind, cause }, document.as_bytes())
    }

    #[test]
    fn each_reason_needs_its_own_form() {
        assert!(reason(Kind::OnlyTheirs, "", "a = 1b = 2").is_some());
        assert!(reason(Kind::OnlyTheirs, "", "a = \"\\ud800\"").is_some());
        assert!(reason(Kind::OnlyTheirs, "", "a = \"\\xff\"").is_some());
        assert!(reason(Kind::OnlyTheirs, "", "a { b = }").is_some());
        assert!(reason(Kind::OnlyTheirs, "", "a = x").is_none());
        assert!(reason(Kind::Tree, "", "a = [<<-E\n x\nE\n]").is_some());
        assert!(reason(Kind::Tree, "", "a = <<-E\n x\n E\n").is_none());
        assert!(reason(Kind::Tree, "", "a = <<E\nx\nE\r\r\n").is_some());
        assert!(reason(Kind::Tree, "", "a = <<E\nx\nE\r\n").is_none());
        assert!(reason(Kind::Tree, "", "a = <<E\nx\n\rE\n").is_some());
        assert!(reason(Kind::OnlyOursBreaks, "unquote", "a = \"${\u{fffd}}\"").is_some());
        assert!(reason(Kind::OnlyOurs, "illegal char", "Ⅳ = 1").is_some());
        assert!(reason(Kind::OnlyOurs, "illegal char", "a = 1").is_none());
    }
}
