use super::*;

fn nested(depth: usize, inside: &str) -> String {
    format!("{}{inside}{}", "(".repeat(depth), ")".repeat(depth))
}

/// A limit of 0 for unknown expressions distinguishes them from known expressions.
fn is_known(filter: &str) -> bool {
    let strict = FilterLimits {
        unknown_work: 0,
        ..FilterLimits::FILE
    };
    match strict.check(filter) {
        Ok(()) => true,
        Err(InvalidFilter::Unknown { .. }) => false,
        Err(error) => panic!("{filter}: {error}"),
    }
}

#[test]
fn expressions_of_consul_pass() {
    for filter in [
        "",
        "\"public\" in Service.Tags",
        "Service.Meta[\"a b\"] == `)(` and Node.Meta.os != \"(((((((((((((\"",
        "not (ServiceID matches \"^a[\" or Service.Port == 80)\n\tand Checks is not empty",
        // Operator words may be values.
        "Service.Meta.x == and",
        "Service.Meta.x contains contains",
        "not in Service.Tags or Service.Meta.x==not",
        "(Service.Meta.x != in)",
    ] {
        assert_eq!(FilterLimits::REQUEST.check(filter), Ok(()), "{filter}");
    }
}

#[test]
fn words_of_a_newer_consul_pass_where_they_cost_little() {
    for filter in [
        "Service.Meta.x glows \"a\" within 5",
        "any Service.Tags as t { t == \"a\" and (t ~ b) }",
        "((Node.Meta.x greater [\"a\", \"b\"]))",
    ] {
        assert!(!is_known(filter), "{filter}");
        assert_eq!(FilterLimits::REQUEST.check(filter), Ok(()), "{filter}");
    }
}

#[test]
fn a_refused_filter_has_the_position() {
    let cases = [
        (
            "((((((((((",
            "more than 5 parentheses are open at character 6",
        ),
        (
            "ü == \"a",
            "the string that begins at character 6 has no end",
        ),
        (
            "a == `\"",
            "the string that begins at character 6 has no end",
        ),
        ("(a == b", "`(` at character 1 is not closed"),
        ("a == b)", "`)` at character 7 closes nothing"),
        ("(a[\"x\")]", "`)` at character 7 closes nothing"),
        (
            "a == b and",
            "the operator at character 8 has nothing to its right",
        ),
        (
            "(a == b or) and c == d",
            "the operator at character 9 has nothing to its right",
        ),
        (
            "a ==",
            "the operator at character 3 has nothing to its right",
        ),
        (
            "not",
            "the operator at character 1 has nothing to its right",
        ),
    ];
    for (filter, expected) in cases {
        let error = FilterLimits::REQUEST.check(filter).unwrap_err();
        assert_eq!(error.to_string(), expected, "{filter}");
    }
    let long = FilterLimits::REQUEST.check(&"x".repeat(4097)).unwrap_err();
    assert_eq!(long.to_string(), "it has 4097 bytes, more than 4096");
}

#[test]
fn files_may_nest_deeper_than_requests() {
    let comparison = "Node.Node == a";
    for (limits, depth) in [(FilterLimits::REQUEST, 5), (FilterLimits::FILE, 8)] {
        assert_eq!(limits.check(&nested(depth, comparison)), Ok(()));
        let error = limits.check(&nested(depth + 1, comparison)).unwrap_err();
        let position = depth + 1;
        assert!(
            matches!(error, InvalidFilter::TooDeep { position: at, .. } if at == position),
            "{error}"
        );
    }
    let bytes = "Node.Node == a and ".repeat(3000) + comparison;
    assert_eq!(FilterLimits::FILE.check(&bytes), Ok(()));
}

/// Each of these kept the parser of Consul 1.8.7 busy for 2 to more than 40 seconds.
#[test]
fn a_filter_that_keeps_consul_busy_is_refused() {
    let many = "Node.Node == a and ".repeat(200) + "Node.Node == a";
    let busy = [
        nested(5, "a b"),
        nested(5, "x foo y"),
        nested(5, ""),
        nested(5, "x == y z"),
        nested(5, "01 in x"),
        nested(5, "a == b orc == d"),
        nested(5, "\"\\\" in Node and ((((((("),
        nested(3, &(many.clone() + " and x y")),
        nested(5, &many),
    ];
    for filter in busy {
        assert!(FilterLimits::REQUEST.check(&filter).is_err(), "{filter}");
    }
    for filter in [nested(6, "a b"), nested(8, &many)] {
        assert!(FilterLimits::FILE.check(&filter).is_err(), "{filter}");
    }
}

#[test]
fn no_text_overflows_the_stack_or_the_time() {
    for text in ["(", "not ", "[", "{", "a.", "a[`x`]", "- ", "\"\" in ", "ü"] {
        let long = text.repeat(FilterLimits::FILE.bytes / text.len());
        let _any = FilterLimits::FILE.check(&long);
        let _inside = FilterLimits::FILE.check(&nested(8, &long));
    }
}
