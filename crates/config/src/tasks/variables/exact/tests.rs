use serde_json::json;

use crate::tasks::variables::evaluate_text;

fn refused(text: &str) -> String {
    match evaluate_text(text) {
        Ok(value) => panic!("{text} is {value}"),
        Err(reason) => reason,
    }
}

#[test]
fn numbers_that_can_be_kept_are() {
    for text in [
        "0",
        "18446744073709551615",
        "-9223372036854775808",
        "0.1",
        "1e29",
        "2.5e-7",
        "1.50",
        "1e308",
        "-0",
        "0e5",
    ] {
        let value = evaluate_text(text).unwrap();
        let shown: bigdecimal::BigDecimal = value.to_string().parse().unwrap();
        assert_eq!(
            shown,
            text.parse::<bigdecimal::BigDecimal>().unwrap(),
            "{text} is {value}"
        );
    }
}

#[test]
fn numbers_that_would_be_others_are_refused() {
    let long = format!("0.{}", "1".repeat(1000));
    for text in [
        "18446744073709551616",
        "18446744073709551617",
        "9007199254740993.5",
        "0.30000000000000001",
        "1e-400",
        "1e-999999999",
        "[1, { a = 9007199254740993.0 }]",
        "\"${18446744073709551617}\"",
        "-9223372036854775809",
        &long,
    ] {
        assert!(refused(text).contains("too many digits"), "{text}");
    }
}

#[test]
fn calculations_are_exact_or_refused() {
    for (text, value) in [
        (
            "18446744073709551614 + 1",
            json!(18_446_744_073_709_551_615_u64),
        ),
        ("18446744073709551615 + 2 - 2 == 0", json!(null)),
        (
            "9223372036854775807 * 2",
            json!(18_446_744_073_709_551_614_u64),
        ),
        ("0.1 + 0.2", json!(0.3)),
        ("1 / 4", json!(0.25)),
        ("6 / 3", json!(2)),
        ("-7 % 3", json!(-1)),
        ("5.5 % 2", json!(1.5)),
        ("-(2 - 5)", json!(3)),
        ("1.0 == 1", json!(true)),
        (
            "18446744073709551615 == 1.8446744073709552e19",
            json!(false),
        ),
        ("18446744073709551615 < 1.8446744073709552e19", json!(true)),
        ("2 >= 2 && 2 <= 2 && 3 > 2 && 2 != 3", json!(true)),
        ("[1] == [1]", json!(true)),
        ("\"a\" != \"b\"", json!(true)),
        ("[for n in [1, 2] : n * 10]", json!([10, 20])),
        ("\"${2 * 3}-%{ if 1 < 2 }$${x}%{ endif }\"", json!("6-${x}")),
        (
            "<<-X\n    a\n      ${1 + 1} \\n\n  X\n",
            json!("a\n  2 \\n\n"),
        ),
    ] {
        if value.is_null() {
            assert!(refused(text).contains("too many digits"), "{text}");
        } else {
            assert_eq!(evaluate_text(text).as_ref(), Ok(&value), "{text}");
        }
    }
}

#[test]
fn refuses_expressions_without_an_exact_value() {
    let digits = "too many digits to be kept exactly";
    for (text, reason) in [
        ("18446744073709551615 + 2", digits),
        ("9223372036854775807 * 4", digits),
        ("1 / 3", digits),
        ("1e308 * 10", digits),
        ("1e-308 / 1e300", digits),
        ("1 / 0", "divides by zero"),
        ("5 % 0", "divides by zero"),
        ("[for n in [0] : 5 % n]", "divides by zero"),
        ("\"${5 % 0}\"", "divides by zero"),
        ("5 % 0.0", "divides by zero"),
        ("1 + \"a\"", "operator `+` cannot be applied"),
        ("-\"a\"", "operator `-` cannot be applied"),
        ("true < false", "operator `<` cannot be applied"),
        (
            "exact_sum(1, 2)",
            "the function `exact_sum` is not available here",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(reason), "{text}: {said}");
    }
}
