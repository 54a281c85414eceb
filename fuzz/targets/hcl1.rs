//! The HCL 1 reader on any bytes: it gives a tree whose places lie within the file, or an error with a place
//! in it.
#![no_main]

use cts_hcl1::{Body, Value, ValueKind, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes) {
        Ok(body) => {
            let text = std::str::from_utf8(bytes).expect("only text is accepted");
            check_body(&body, text);
        }
        Err(error) => {
            let span = error.span();
            assert!(span.start <= span.end && span.end <= bytes.len());
            assert!(error.message().len() + error.help().map_or(0, str::len) < 500);
            if let Ok(text) = std::str::from_utf8(bytes) {
                assert!(text.get(span).is_some(), "the place cuts a character");
            }
        }
    }
});

fn check_body(body: &Body, text: &str) {
    for item in &body.items {
        assert!(!item.keys.is_empty());
        assert!(item.span.start >= body.span.start && item.span.end <= body.span.end);
        check_value(&item.value, text);
    }
}

fn check_value(value: &Value, text: &str) {
    assert!(text.get(value.span.clone()).is_some());
    match &value.kind {
        ValueKind::List(elements) => {
            for element in elements {
                check_value(element, text);
            }
        }
        ValueKind::Object(body) => check_body(body, text),
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null => {}
    }
}
