use hcl::eval::{Context, Evaluate as _};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Text that would be code if it were not escaped, mixed with arbitrary text.
fn hostile_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("${".to_owned()),
        Just("%{".to_owned()),
        Just("$".to_owned()),
        Just("%".to_owned()),
        Just("}".to_owned()),
        Just("{".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just("~}".to_owned()),
        Just("\u{0}".to_owned()),
        any::<String>(),
    ];
    vec(fragment, 0..8).prop_map(|fragments| fragments.concat())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        hostile_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(hostile_text(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The value that HCL reads from `expression`.
fn read_back(expression: &str) -> Value {
    let body = hcl::parse(&format!("x = {expression}\n")).expect(expression);
    let attribute = body.attributes().next().unwrap();
    let value = attribute.expr.evaluate(&Context::new()).unwrap();
    serde_json::to_value(value).unwrap()
}

proptest! {
    #[test]
    fn every_value_is_read_back(wanted in json_value()) {
        prop_assert_eq!(read_back(&value(&wanted, 0)), wanted);
    }

    #[test]
    fn every_string_map_is_read_back(
        wanted in btree_map(hostile_text(), hostile_text(), 0..5)
    ) {
        prop_assert_eq!(read_back(&string_map(&wanted, 0)), json!(wanted));
    }

    #[test]
    fn every_string_list_is_read_back(wanted in vec(hostile_text(), 0..5)) {
        prop_assert_eq!(read_back(&string_list(&wanted)), json!(wanted));
    }
}

#[test]
fn strings_are_escaped_as_terraform_does() {
    for (text, literal) in [
        ("a \"b\" \\", r#""a \"b\" \\""#),
        ("\n\r\t", r#""\n\r\t""#),
        ("${x} %{x}", r#""$${x} %%{x}""#),
        ("$x 5% {", r#""$x 5% {""#),
        ("\0\u{7f}\u{2028}", r#""\u0000\u007f\u2028""#),
        ("\u{e0001}", r#""\U000e0001""#),
        ("é😀", r#""é😀""#),
    ] {
        assert_eq!(quoted(text), literal);
    }
}

#[test]
fn alignment_ends_at_values_of_several_lines() {
    let text = value(
        &json!({ "a": 1, "bbb": 2, "c": { "d": {} }, "ee": [], "f": null }),
        0,
    );
    assert_eq!(
        text,
        "{\n  a   = 1\n  bbb = 2\n  c = {\n    d = {}\n  }\n  ee = []\n  f  = null\n}"
    );
}

#[test]
fn lists_with_objects_take_several_lines() {
    let text = value(&json!([{ "a": 1 }, 2]), 1);
    assert_eq!(text, "[\n    {\n      a = 1\n    },\n    2,\n  ]");
}

#[test]
fn keys_are_bare_where_they_can_be() {
    assert_eq!(key("a-b_1"), "a-b_1");
    for quoted in ["1a", "a.b", "", "for", "été", "${x}"] {
        assert!(key(quoted).starts_with('"'), "{quoted}");
    }
}

#[test]
fn numbers_are_plain_decimals() {
    for (number, text) in [
        (json!(4), "4"),
        (json!(-7), "-7"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(0.5), "0.5"),
        (json!(1e21), "1000000000000000000000"),
        (json!(1e-7), "0.0000001"),
        (json!(3.0), "3"),
    ] {
        assert_eq!(value(&number, 0), text);
    }
}

#[test]
fn types_follow_values() {
    for (wanted, text) in [
        (json!("x"), "string"),
        (json!(1.5), "number"),
        (json!(true), "bool"),
        (json!(null), "any"),
        (json!(["a", 1, []]), "tuple([string, number, tuple([])])"),
        (json!({}), "object({})"),
        (json!({ "not an identifier": 1 }), "any"),
        (
            json!([{ "b": 1, "a": "x" }]),
            "tuple([\n  object({\n    a = string\n    b = number\n  }),\n])",
        ),
    ] {
        assert_eq!(type_constraint(&wanted, 0), text);
    }
}

/// Rendering an element twice at each level would never end here.
#[test]
fn a_list_that_is_nested_deeply_is_rendered_once_at_each_level() {
    let deep = |inner| (0..60).fold(inner, |value, _level| json!([value]));
    assert_eq!(
        value(&deep(json!(1)), 0),
        format!("{}1{}", "[".repeat(60), "]".repeat(60))
    );
    let text = value(&deep(json!({"a": 1})), 0);
    assert_eq!(text.lines().count(), 2 * 60 + 3);
    assert_eq!(
        type_constraint(&deep(json!({"a": 1})), 0).lines().count(),
        2 * 60 + 3
    );
}
