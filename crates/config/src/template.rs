//! Finds dynamic templates, `{{ key "x" }}` and the like (spec/config.md 11.4).

use cts_hcl1::{Value, ValueKind};

use crate::place::Place;
use crate::sink::Sink;
use crate::tree::{Entry, Part};

/// Where the original takes the text literally, although it looks like a template: the check it makes
/// sees only what its log shows (spec/config.md 1.10).
const LITERAL: [&[&str]; 4] = [
    &["consul", "token"],
    &["consul", "auth", "password"],
    &["task", "variables"],
    &["task", "working_dir"],
];

/// Reports every template of a file: in provider blocks they are not supported yet, elsewhere never.
pub(crate) fn refuse_templates(part: &Part<'_>, sink: &Sink) {
    for entry in &part.entries {
        walk(entry, &mut Vec::new(), sink);
    }
}

fn walk<'a>(entry: &Entry<'a>, path: &mut Vec<&'a str>, sink: &Sink) {
    path.push(entry.name());
    if !is_literal(path) {
        match entry.plain_value() {
            Some(value) => walk_value(value, entry, path, sink),
            None => {
                for part in entry.bodies().into_iter().flatten() {
                    for inner in &part.entries {
                        if is_provider(path) && path.len() == 1 && is_dynamic(inner.name()) {
                            report_misplaced(&inner.key_place(), sink);
                        }
                        walk(inner, path, sink);
                    }
                }
            }
        }
    }
    path.pop();
}

fn walk_value<'a>(value: &'a Value, entry: &Entry<'a>, path: &mut Vec<&'a str>, sink: &Sink) {
    match &value.kind {
        ValueKind::String(text) if is_dynamic(text) => {
            let place = Place::new(entry.source(), value.span.clone());
            if is_provider(path) {
                sink.error(
                    &place,
                    "dynamic templates (`{{ … }}`) are not supported yet",
                );
            } else {
                report_misplaced(&place, sink);
            }
        }
        ValueKind::List(values) => {
            for value in values {
                walk_value(value, entry, path, sink);
            }
        }
        ValueKind::Object(body) => {
            for inner in &Part::of_body(entry.source(), body, entry.key_place()).entries {
                walk(inner, path, sink);
            }
        }
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) => {}
    }
}

fn report_misplaced(place: &Place, sink: &Sink) {
    sink.error(
        place,
        "dynamic templates (`{{ … }}`) are only allowed in the values of `terraform_provider` blocks",
    );
}

fn is_provider(path: &[&str]) -> bool {
    path.first()
        .is_some_and(|first| first.eq_ignore_ascii_case("terraform_provider"))
}

fn is_literal(path: &[&str]) -> bool {
    LITERAL.iter().any(|literal| {
        literal.len() == path.len()
            && literal
                .iter()
                .zip(path)
                .all(|(a, b)| a.eq_ignore_ascii_case(b))
    })
}

/// Whether the original would recognise a template in `text`.
pub(crate) fn is_dynamic(text: &str) -> bool {
    text.match_indices("{{")
        .any(|(at, opening)| starts_template(&text[at + opening.len()..]))
}

fn starts_template(rest: &str) -> bool {
    let rest = rest.trim_start();
    let rest = ["env", "key"]
        .iter()
        .find_map(|function| rest.strip_prefix(function))
        .or_else(|| {
            let behind = rest.strip_prefix("with")?;
            let function = behind.trim_start();
            (function.len() < behind.len())
                .then_some(function)?
                .strip_prefix("secret")
        });
    let Some(rest) = rest else { return false };
    let argument = rest.trim_start();
    let Some(inside) = argument
        .strip_prefix('"')
        .filter(|_| argument.len() < rest.len())
    else {
        return false;
    };
    let Some((argument, behind)) = inside.split_once('"') else {
        return false;
    };
    !argument.is_empty() && behind.trim_start().starts_with("}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_the_three_functions_are_recognised() {
        for text in [
            r#"{{ env "X" }}"#,
            r#"{{env "X"}}"#,
            r#"a {{  key "a/b" }} b"#,
            r#"{{ with secret "kv/x" }}{{ .Data.t }}{{ end }}"#,
            r#"{{{{ env "X" }}"#,
        ] {
            assert!(is_dynamic(text), "{text}");
        }
    }

    #[test]
    fn other_templates_are_plain_text() {
        for text in [
            r#"{{- env "X" }}"#,
            r#"{{ env "X" | toUpper }}"#,
            "{{ env `X` }}",
            r#"{{ keyOrDefault "a" "b" }}"#,
            r#"{{ secret "a" }}"#,
            r#"{{ env"X" }}"#,
            r#"{{ env "" }}"#,
            r#"{{ env "X""#,
            "${x}",
            "{{",
        ] {
            assert!(!is_dynamic(text), "{text}");
        }
    }
}
