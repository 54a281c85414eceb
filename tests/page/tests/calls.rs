//! Links and forms of all screens, and the calls of REST behind them (docs/page.md#calls-of-rest).

use std::collections::BTreeSet;

use cts_page_tests::{Browsers, Look};
use regex::Regex;
use serde_json::Value;

use crate::shown::shown;

const DOCUMENT: &str = include_str!("../../../docs/page.md");

const DESCRIPTION: &str = include_str!("../../../services/gateway/openapi.yaml");

/// All requests that a person can make from a screen, as `METHOD path below the prefix`, and what scripts fetch.
const REQUESTS: &str = r"
const paths = (name, method, tag = '') => [...document.querySelectorAll(`${tag}[${name}]`)].map(it => [method, it.getAttribute(name)]);
const forms = [...document.forms].flatMap(form => [form, ...form.querySelectorAll('[formaction]')].map(it =>
  [form.method.toUpperCase(), it.getAttribute('formaction') ?? it.getAttribute('action')]));
const all = [...paths('href', 'GET', 'a'), ...paths('data-log', 'GET'), ...paths('data-names', 'GET'), ...forms];
return all.map(([method, address]) => {
  const url = new URL(address, location.href);
  return url.origin === location.origin && url.pathname.startsWith('/ui/')
    ? `${method} ${url.pathname.slice(4)}` : `${method} ${url.href}`;
});
";

/// A row of the table.
struct Row {
    requests: Vec<String>,
    calls: Vec<String>,
}

fn table() -> Vec<Row> {
    let code = Regex::new("`([^`]+)`").unwrap();
    let all = |cell: &str| {
        code.captures_iter(cell)
            .map(|found| found[1].to_owned())
            .collect()
    };
    let is_row = |line: &&str| line.starts_with("| `GET ") || line.starts_with("| `POST ");
    let rows = DOCUMENT.lines().filter(is_row);
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        Row {
            requests: all(cells[1]),
            calls: all(cells[2]),
        }
    })
    .collect()
}

/// Whether a request is the one of a pattern such as `GET tasks/{name}`.
fn matches(pattern: &str, request: &str) -> bool {
    let segments = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (pattern, request) = (segments(pattern), segments(request));
    let is_same = |(wanted, given): (&String, &String)| wanted.starts_with('{') || wanted == given;
    pattern.len() == request.len() && pattern.iter().zip(&request).all(is_same)
}

#[test]
fn each_call_of_the_table_is_in_the_description_of_the_api() {
    let description: Value = serde_norway::from_str(DESCRIPTION).unwrap();
    for row in table() {
        for call in row.calls {
            let (method, path) = call.split_once(' ').unwrap();
            let operation = &description["paths"][path][method.to_lowercase()];
            assert!(operation.is_object(), "{call}");
        }
    }
}

#[tokio::test]
async fn each_link_and_form_of_the_page_has_its_call_of_rest() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    let table = table();
    let mut used = BTreeSet::new();
    for screen in shown.screens() {
        browser.go(&screen.path).await;
        let requests: Vec<String> =
            serde_json::from_value(browser.run(REQUESTS, &[]).await).unwrap();
        assert!(requests.len() > 6, "{}: {requests:?}", screen.name);
        for request in requests {
            if request == "POST logout" {
                continue;
            }
            let patterns = table.iter().flat_map(|row| &row.requests);
            // A path without a name in braces counts before one with it.
            let found = patterns
                .filter(|pattern| matches(pattern, &request))
                .min_by_key(|pattern| pattern.matches('{').count());
            let found = found.unwrap_or_else(|| panic!("{}: no call for {request}", screen.name));
            used.insert(found.clone());
        }
    }
    for expected in [
        "GET ",
        "GET tasks/{name}",
        "GET runs/{id}/raw",
        "POST tasks/{name}/run",
        "GET tasks/{name}/delete",
        "POST tasks/{name}/delete",
        "POST tasks/{name}/enable",
        "POST approvals/{id}/approve",
        "POST approvals/{id}/reject",
        "GET workers/{id}/drain",
        "GET runs/{id}/cancel",
    ] {
        assert!(
            used.contains(expected),
            "no screen has {expected}: {used:?}"
        );
    }
    browser.close().await;
}
