use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::template::{Evaluation, Template};

/// Evaluates with what these functions find, as a caller would; the text, or the reason.
fn evaluate(text: &str) -> std::result::Result<String, String> {
    let template = Template::new(text).map_err(|error| error.to_string())?;
    let mut found = BTreeMap::new();
    for _ in 0..10 {
        match template.evaluate(&found) {
            Ok(Evaluation::Done(text)) => return Ok(text),
            Ok(Evaluation::Needs(sources)) => {
                found.extend(sources.into_iter().map(|source| {
                    let has = has(&source);
                    (source, has)
                }));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    panic!("{text} needs more and more")
}

fn has(source: &Source) -> Found {
    let text = |text: &str| Found::Text(text.to_owned());
    match source.to_string().as_str() {
        "the environment variable NAME" => text("of env"),
        "the environment variable EMPTY" => text(""),
        "the key a/b" => text("of key"),
        "the key a/b@dc2" => text("elsewhere"),
        "the keys below a/" => Found::Pairs(vec![
            ("a/".into(), String::new()),
            ("a/b".into(), "1".into()),
            ("a/c/d".into(), "2".into()),
        ]),
        "the secret kv/x" => Found::Secret(json!({
            "Data": {"data": {"password": "s3cret", "port": 7, "list": ["p", "q"]}, "metadata": {"version": 2}},
        })),
        "the secrets below kv" => Found::Pairs(vec![("x".into(), String::new())]),
        _ => Found::Nothing,
    }
}

#[test]
fn found_values_stand_in_the_surrounding_text() {
    for (text, value) in [
        ("{{ env \"NAME\" }}", "of env"),
        ("<{{ env \"EMPTY\" }}>", "<>"),
        ("{{ envOrDefault \"NONE\" \"d\" }}", "d"),
        ("{{ envOrDefault \"EMPTY\" \"d\" }}", "d"),
        (
            "{{ key \"a/b\" }} {{ key \"/a/b\" }} {{ key \"a/b@dc2\" }}",
            "of key of key elsewhere",
        ),
        (
            "{{ if keyExists \"a/b\" }}y{{ end }}{{ if keyExists \"no\" }}n{{ end }}",
            "y",
        ),
        ("{{ keyOrDefault \"no\" \"d\" }}", "d"),
        (
            "{{ range ls \"a\" }}{{ .Key }}={{ .Value }};{{ end }}",
            "b=1;",
        ),
        (
            "{{ range tree \"a/\" }}{{ .Key }}={{ .Value }};{{ end }}",
            "b=1;c/d=2;",
        ),
        ("{{ range safeTree \"none\" }}x{{ end }}.", "."),
        (
            "{{ with secret \"kv/x\" }}{{ .Data.data.password }}:{{ .Data.data.port }}{{ end }}",
            "s3cret:7",
        ),
        (
            "{{ with secret \"kv/x\" }}{{ index .Data.data.list 1 }}{{ end }}",
            "q",
        ),
        ("{{ range secrets \"kv\" }}{{ . }}{{ end }}", "x"),
        (
            "{{ $p := env \"NAME\" }}{{ printf \"%q\" $p }}",
            "\"of env\"",
        ),
    ] {
        assert_eq!(evaluate(text).as_deref(), Ok(value), "{text}");
    }
}

#[test]
fn names_missing_values_and_invalid_calls() {
    for (text, reason) in [
        (
            "{{ env \"NONE\" }}",
            "the environment variable NONE is not set",
        ),
        ("{{ key \"no\" }}", "the key no is not there"),
        (
            "{{ with secret \"kv/no\" }}x{{ end }}",
            "the secret kv/no is not there",
        ),
        (
            "{{ with secret \"kv/x\" }}{{ .Data.password }}{{ end }}",
            "there is no field \"password\"",
        ),
        ("{{ key \"\" }}", "`key` takes 1 text"),
        ("{{ envOrDefault \"A\" }}", "`envOrDefault` takes 2 texts"),
        ("{{ key 1 }}", "`key` takes texts"),
        ("{{ secret \"kv/x\" \"a=b\" }}", "`secret` takes 1 text"),
        ("{{ nodes }}", "the function `nodes` is not available"),
        ("{{ toUpper \"x\" }}", "the template cannot be read"),
        ("{{ env \"A\"", "the template cannot be read"),
        ("{{ env \"NAME\" }}{{ key", "the template cannot be read"),
        ("{{ env \"NAME\" }}{{ if", "the template cannot be read"),
        ("{{ env \"NAME\" }}{{ end }}", "the template cannot be read"),
    ] {
        let said = evaluate(text).unwrap_err();
        assert!(said.contains(reason), "{text}: {said}");
        assert!(!said.contains(['\u{1}', '\u{2}']), "{said:?}");
        assert!(!said.contains("u{2}"), "{said:?}");
    }
}

#[test]
fn errors_of_the_language_do_not_show_values() {
    for text in [
        "{{ with secret \"kv/x\" }}{{ index .Data.data.list .Data.data.password }}{{ end }}",
        "{{ with secret \"kv/x\" }}{{ template .Data.data.password }}{{ end }}",
        "{{ with secret \"kv/x\" }}{{ lt .Data.data.password 3 }}{{ end }}",
        "{{ with secret \"kv/x\" }}{{ len 3 }}{{ .Data.data.password.more }}{{ end }}",
        "{{ with secret \"kv/x\" }}{{ key (slice .Data.data.password 1 99) }}{{ end }}",
    ] {
        let said = evaluate(text).unwrap_err();
        assert!(!said.contains("s3cret"), "{text}: {said}");
    }
}

#[test]
fn requests_the_needed_values_one_after_another() {
    let template = Template::new("{{ env \"A\" }}{{ key \"b\" }}").unwrap();
    let Ok(Evaluation::Needs(first)) = template.evaluate(&BTreeMap::new()) else {
        panic!("it cannot be done")
    };
    assert_eq!(first, BTreeSet::from([environment("A")]));
}
