//! Statements about all inputs, tried on generated ones.
//!
//! A generated document is a pair: its tree, and one of the many ways to write it.

use cts_hcl1::parse;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::outline::{Plain, PlainItem, plain_body};
use crate::spans::assert_nested;

type Written<T> = (T, String);

fn blank() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "  ",
        " # note }\n",
        " // \"\n",
        " /* [ */ ",
    ])
}

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z_äß名][a-zA-Z0-9_.äß名-]{0,8}"
        .prop_filter("these are values", |word| word != "true" && word != "false")
}

/// A piece of a string: what it means and how it is written.
fn piece() -> impl Strategy<Value = Written<String>> {
    prop_oneof![
        any::<char>().prop_map(|character| (character.to_string(), escaped(character, false))),
        any::<char>().prop_map(|character| (character.to_string(), escaped(character, true))),
        "[a-z ]{1,5}".prop_map(|text| (text.clone(), text)),
        "[$][{][a-z\" \n]{0,4}([{][a-z\"]{0,3}[}])?[}]".prop_map(|text| (text.clone(), text)),
        Just(("${\\n\\\"}".to_owned(), "${\\n\\\"}".to_owned())),
        (0_u8..0x80).prop_map(|byte| (char::from(byte).to_string(), format!("\\{byte:03o}"))),
        (0_u8..0x80).prop_map(|byte| (char::from(byte).to_string(), format!("\\x{byte:02x}"))),
    ]
}

fn escaped(character: char, always: bool) -> String {
    match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\0' | '$' => format!("\\u{:04x}", u32::from(character)),
        _ if always => format!("\\U{:08x}", u32::from(character)),
        _ => character.to_string(),
    }
}

fn string() -> impl Strategy<Value = Written<String>> {
    vec(piece(), 0..6).prop_map(|pieces| {
        let (texts, written): (String, String) = pieces.into_iter().unzip();
        (texts, format!("\"{written}\""))
    })
}

fn heredoc() -> impl Strategy<Value = Written<String>> {
    (
        vec("[a-z\"{$\\\\ ]{0,9}", 0..4),
        "[ \t]{0,3}",
        any::<bool>(),
    )
        .prop_map(|(lines, indentation, removed)| {
            let mark = if removed { "-" } else { "" };
            let mut text = String::new();
            let mut written = format!("<<{mark}END\n");
            for line in lines {
                // With a letter before them blanks are not part of the indentation.
                let line = format!("x{line}\n");
                if removed {
                    written.push_str(&indentation);
                }
                written.push_str(&line);
                text.push_str(&line);
            }
            written.push_str(&indentation);
            written.push_str("END\n");
            if !removed {
                text.push_str(&indentation);
            }
            (text, written)
        })
}

fn scalar() -> impl Strategy<Value = Written<Plain>> {
    let positive = 0..i64::MAX;
    prop_oneof![
        string().prop_map(|(text, written)| (Plain::Text(text), written)),
        heredoc().prop_map(|(text, written)| (Plain::Text(text), written)),
        any::<bool>().prop_map(|flag| (Plain::Bool(flag), flag.to_string())),
        any::<i64>().prop_map(|number| (Plain::Integer(number), number.to_string())),
        positive
            .clone()
            .prop_map(|number| (Plain::Integer(number), format!("{number:#x}"))),
        positive.prop_map(|number| (Plain::Integer(-number), format!("-0{number:o}"))),
        any::<f64>()
            .prop_filter("only finite numbers can be written", |number| number
                .is_finite())
            .prop_map(|number| (Plain::Float(number), format!("{number:?}"))),
    ]
}

fn value() -> impl Strategy<Value = Written<Plain>> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            list(inner.clone()),
            items(inner, 4)
                .prop_map(|(items, written)| (Plain::Object(items), format!("{{{written}}}"))),
        ]
    })
}

fn list(inner: impl Strategy<Value = Written<Plain>>) -> impl Strategy<Value = Written<Plain>> {
    let separator = prop::sample::select(vec![",", " , ", ",\n,", "\n,"]);
    (
        vec((inner, separator), 0..5),
        prop::sample::select(vec!["", ",", " ,"]),
    )
        .prop_map(|(elements, before)| {
            let mut plain = Vec::new();
            let mut written = format!("[{before}");
            for (element, separator) in elements {
                plain.push(element.0);
                written.push_str(&element.1);
                written.push_str(separator);
            }
            written.push(']');
            (Plain::List(plain), written)
        })
}

fn key() -> impl Strategy<Value = Written<(String, bool)>> {
    prop_oneof![
        word().prop_map(|word| ((word.clone(), false), word)),
        string().prop_map(|(text, written)| ((text, true), written)),
    ]
}

fn items(
    inner: impl Strategy<Value = Written<Plain>>,
    most: usize,
) -> impl Strategy<Value = Written<Vec<PlainItem>>> {
    let item = (
        vec(key(), 1..4),
        inner,
        any::<bool>(),
        any::<bool>(),
        vec(blank(), 8),
    );
    vec(item, 0..=most).prop_map(|items| {
        let mut plain = Vec::new();
        let mut written = String::new();
        for (mut keys, (value, value_written), equals, comma, blanks) in items {
            let mut blanks = blanks.into_iter();
            let mut blank = || blanks.next().unwrap_or(" ");
            let is_object = matches!(value, Plain::Object(_));
            let assigned = !is_object || (equals && keys.len() == 1);
            if assigned {
                keys.truncate(1);
            }
            let mut texts = Vec::new();
            for (text, key_written) in keys {
                texts.push(text);
                written.push_str(blank());
                written.push_str(&key_written);
            }
            if assigned {
                written.push_str(blank());
                written.push('=');
            }
            written.push_str(blank());
            written.push_str(&value_written);
            written.push_str(blank());
            if comma {
                written.push(',');
            }
            plain.push(PlainItem {
                keys: texts,
                assigned,
                value,
            });
        }
        (plain, written)
    })
}

/// Fragments that come close to the language.
fn almost_hcl() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "a", "b.c", "true", "null", "\"", "\"x\"", "\\", "\\x4", "\\777", "${", "}", "{", "[", "]",
        ",", "=", "\n", "\r", " ", "<<", "<<-", "<<A\n", "A\n", "A", "-", "+", ".", "0", "08",
        "0x", "1e", "1", "_", "#", "//", "/*", "*/", "é", "\u{feff}", ":", ";", "'",
    ]);
    vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn check_any(source: &[u8]) {
    match parse(source) {
        Ok(body) => {
            let text = std::str::from_utf8(source).expect("only UTF-8 is accepted");
            assert_eq!(body.span, 0..source.len());
            assert_nested(&body, text);
        }
        Err(error) => {
            let span = error.span();
            assert!(span.start <= span.end && span.end <= source.len());
            assert!(!error.message().is_empty());
            if let Ok(text) = std::str::from_utf8(source) {
                assert!(text.get(span).is_some(), "the span cuts a character");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_do_no_harm(source in vec(any::<u8>(), 0..200)) {
        check_any(&source);
    }

    #[test]
    fn arbitrary_text_does_no_harm(source in any::<String>()) {
        check_any(source.as_bytes());
    }

    #[test]
    fn text_close_to_the_language_does_no_harm(source in almost_hcl()) {
        check_any(source.as_bytes());
    }

    #[test]
    fn a_cut_document_does_no_harm((_, source) in items(value(), 4), cut in any::<prop::sample::Index>()) {
        check_any(&source.as_bytes()[..cut.index(source.len() + 1)]);
    }

    #[test]
    fn a_written_document_reads_back_as_the_same_tree((items, source) in items(value(), 4)) {
        let body = parse(source.as_bytes());
        prop_assert!(body.is_ok(), "{source}\n{body:?}");
        let body = body.unwrap();
        prop_assert_eq!(plain_body(&body), items, "{}", source);
        assert_nested(&body, &source);
    }
}
