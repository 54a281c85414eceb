//! Filters that are never sent, compared with those that the real Consul reads (docs/configuration.md#filters).

use cts_consul::ConsulError;
use cts_core::{FilterLimits, ServiceView};
use cts_testkit::ConsulAgent;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::{BoxedStrategy, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use wiremock::MockServer;

use crate::{AskHealth as _, DEADLINE, client, view};

/// Generated filters.
const TRIES: usize = 1000;

/// Parentheses around a part of them: one that Consul refuses takes it 0.1 s, and 8 times as long for each more.
const DEEPEST: u32 = 3;

const FIELDS: [&str; 7] = [
    "Service.Meta.a",
    "Service.Meta.and",
    "Service.Meta[\"a ) b\"]",
    "Service.Meta[ `(` ].c",
    "Node.Node",
    "Node.Meta.in",
    "Service.Port",
];
const LISTS: [&str; 3] = ["Service.Tags", "Checks", "Service.Meta"];
const VALUES: [&str; 18] = [
    "a",
    "5",
    "-1.5",
    "0",
    "01",
    "5.",
    "\"x\"",
    "`\"(`",
    "\"`((\"",
    "\"\"",
    "and",
    "or",
    "not",
    "in",
    "contains",
    "is",
    "empty",
    "a.b[\"]\"]",
];
const EQUALS: [&str; 10] = [
    "==",
    " == ",
    "!=",
    "\n!= ",
    " contains ",
    " not  contains ",
    " matches ",
    " not matches ",
    " is ",
    " = ",
];
const IN: [&str; 3] = [" in ", " not in ", "\tnot\r\n in "];
const EMPTY: [&str; 3] = [" is empty", " is not empty", " is  notempty"];
const BETWEEN: [&str; 5] = [" and ", " or ", "\tand\n", " and", " xor "];
/// Inserted at any place, or put in place of a character.
const FAULTS: [&str; 14] = [
    "", "", "(", ")", "[", "]", "\"", "`", " ", " and ", " not ", "or", "==", "x",
];

fn text(texts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(texts)
}

fn comparison() -> impl Strategy<Value = String> {
    let equals = (text(&FIELDS), text(&EQUALS), text(&VALUES));
    let equals = equals.prop_map(|(field, operator, value)| format!("{field}{operator}{value}"));
    let inside = (text(&VALUES), text(&IN), text(&LISTS));
    let inside = inside.prop_map(|(value, operator, field)| format!("{value}{operator}{field}"));
    let empty = (text(&LISTS), text(&EMPTY));
    let empty = empty.prop_map(|(field, operator)| format!("{field}{operator}"));
    prop_oneof![equals, inside, empty]
}

fn expression() -> BoxedStrategy<String> {
    let not = (text(&["not ", "not\n not ", "not"]), comparison());
    let not = not.prop_map(|(not, inside)| format!("{not}{inside}"));
    let term = prop_oneof![4 => comparison(), 1 => not];
    let nested = term.prop_recursive(DEEPEST, 12, 2, |inside| {
        let joined = (inside.clone(), text(&BETWEEN), inside.clone());
        let joined = joined.prop_map(|(left, between, right)| format!("{left}{between}{right}"));
        let brackets = (
            text(&["(", "( ", "not (", "\t("]),
            inside,
            text(&[")", " )"]),
        );
        let brackets = brackets.prop_map(|(open, inside, close)| format!("{open}{inside}{close}"));
        prop_oneof![joined, brackets]
    });
    nested.boxed()
}

/// An expression, often with one fault.
fn filter() -> BoxedStrategy<String> {
    let faulty = (
        expression(),
        any::<proptest::sample::Index>(),
        text(&FAULTS),
        any::<bool>(),
    );
    let faulty = faulty.prop_map(|(text, place, fault, replaces)| {
        let place = place.index(text.len());
        let mut text = text;
        let end = if replaces { place + 1 } else { place };
        text.replace_range(place..end, fault);
        text
    });
    let spaced = expression().prop_map(|text| format!(" {text}\n"));
    prop_oneof![2 => expression(), 1 => spaced, 3 => faulty].boxed()
}

/// Whether parentheses of the text nest deeper than Consul is asked here; quotes do not count.
fn is_deep(filter: &str) -> bool {
    let mut depth = 0_u32;
    filter.chars().any(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

#[tokio::test]
async fn each_filter_that_consul_accepts_passes_and_each_other_counts_as_unknown() {
    let consul = ConsulAgent::start().await;
    let http = reqwest::Client::builder().timeout(DEADLINE);
    let http = http.build().unwrap();
    let strict = FilterLimits {
        unknown_work: 0,
        ..FilterLimits::REQUEST
    };
    let mut runner = TestRunner::new(Config::default());
    let (mut accepted, mut unreadable) = (0, 0);
    for _try in 0..TRIES {
        let text = filter().new_tree(&mut runner).unwrap().current();
        if is_deep(&text) {
            continue;
        }
        let encoded = utf8_percent_encode(&text, NON_ALPHANUMERIC);
        let url = format!(
            "http://{}/v1/health/service/web?filter={encoded}",
            consul.address()
        );
        let answer = http.get(url).send().await.unwrap();
        let is_accepted = answer.status() == 200;
        let body = answer.text().await.unwrap();
        if is_accepted {
            accepted += 1;
            assert_eq!(FilterLimits::REQUEST.check(&text), Ok(()), "{text:?}");
            assert_eq!(strict.check(&text), Ok(()), "{text:?}");
        } else if body.contains("no match found") || body.contains("rule \"") {
            // Escapes inside of strings are read after the expression.
            if body.contains("invalid syntax") {
                continue;
            }
            unreadable += 1;
            assert!(strict.check(&text).is_err(), "{text:?}: {body}");
        }
    }
    assert!(accepted > TRIES / 10, "only {accepted} were accepted");
    assert!(unreadable > TRIES / 10, "only {unreadable} were refused");
}

#[tokio::test]
async fn a_filter_that_would_keep_consul_busy_is_not_sent() {
    let server = MockServer::start().await;
    let client = client(&server.uri());
    for filter in ["((((((((((", "((((((a b))))))", "a == b and"] {
        let view = ServiceView {
            filter: filter.to_owned(),
            ..view("web")
        };
        let error = client.health_service(&view, 0).await.unwrap_err();
        assert!(error.is_rejection() && error.is_refusal() && !error.is_outage());
        assert!(matches!(error, ConsulError::UnusableFilter(_)), "{error}");
    }
    let requests = server.received_requests().await.unwrap();
    assert!(requests.is_empty(), "{requests:?}");
}
