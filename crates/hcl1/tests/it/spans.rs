//! Which part of the source a node covers.

use cts_hcl1::{Body, ValueKind, parse};

#[test]
fn nodes_cover_what_is_written() {
    let source = "# c\ntask \"a\" { x = [1, \"é\"] } # d\nh = <<-EOF\n  t\n  EOF\r\n";
    let body = parse(source.as_bytes()).unwrap();
    assert_eq!(body.span, 0..source.len());
    let task = &body.items[0];
    assert_eq!(&source[task.span.clone()], "task \"a\" { x = [1, \"é\"] }");
    assert_eq!(&source[task.keys[0].span.clone()], "task");
    assert_eq!(&source[task.keys[1].span.clone()], "\"a\"");
    assert_eq!(&source[task.value.span.clone()], "{ x = [1, \"é\"] }");
    let ValueKind::Object(inner) = &task.value.kind else {
        panic!("a block is an object");
    };
    assert_eq!(inner.span, task.value.span);
    assert_eq!(&source[inner.items[0].span.clone()], "x = [1, \"é\"]");
    let ValueKind::List(elements) = &inner.items[0].value.kind else {
        panic!("brackets hold a list");
    };
    assert_eq!(&source[elements[1].span.clone()], "\"é\"");
    assert_eq!(
        &source[body.items[1].value.span.clone()],
        "<<-EOF\n  t\n  EOF"
    );
    assert_nested(&body, source);
}

/// Spans are within the parent, in order, without overlap, and on character boundaries.
pub(crate) fn assert_nested(body: &Body, source: &str) {
    assert!(source.get(body.span.clone()).is_some());
    let mut behind = body.span.start;
    for item in &body.items {
        assert!(behind <= item.span.start && item.span.end <= body.span.end);
        behind = item.span.end;
        let mut inside = item.span.start;
        for key in &item.keys {
            assert!(inside <= key.span.start && key.span.end <= item.value.span.start);
            assert!(source.get(key.span.clone()).is_some());
            inside = key.span.end;
        }
        assert!(item.value.span.end <= item.span.end);
        assert_value_nested(&item.value, source);
    }
}

fn assert_value_nested(value: &cts_hcl1::Value, source: &str) {
    assert!(
        source
            .get(value.span.clone())
            .is_some_and(|text| !text.is_empty())
    );
    match &value.kind {
        ValueKind::Object(body) => {
            assert_eq!(body.span, value.span);
            assert_nested(body, source);
        }
        ValueKind::List(elements) => {
            let mut behind = value.span.start;
            for element in elements {
                assert!(behind <= element.span.start && element.span.end <= value.span.end);
                behind = element.span.end;
                assert_value_nested(element, source);
            }
        }
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null => {}
    }
}
