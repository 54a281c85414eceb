//! How the errors read.

use cts_hcl1::parse;

fn report(source: &str) -> String {
    let error = parse(source.as_bytes()).expect_err("the source has a fault");
    let span = error.span();
    let line_start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line = source[line_start..].lines().next().unwrap_or_default();
    let column = source[line_start..span.start].chars().count();
    let width = source[span].chars().count().max(1);
    format!(
        "{error}\n| {line}\n| {}{}\nhelp: {}",
        " ".repeat(column),
        "^".repeat(width),
        error.help().unwrap_or("-")
    )
}

/// Faults that people make, each with the words of its report.
const FAULTS: [(&str, &str); 34] = [
    ("an unquoted value", "level = debug"),
    ("an unquoted path", "module = ./modules/a:b"),
    ("an unquoted duration", "min = 10s"),
    ("an unquoted address", "address = 10.0.0.1:8500"),
    ("null as value", "token = null"),
    ("a capital true", "enabled = True"),
    ("a function call", "path = file(\"x\")"),
    ("a colon", "port: 8558"),
    ("single quotes", "name = 'x'"),
    ("an open string", "name = \"abc\nport = 1\n"),
    ("an open interpolation", "name = \"${abc\"\nport = 1\n"),
    ("an invalid escape", "regexp = \"^web\\d+$\""),
    ("an open heredoc", "text = <<EOF\nabc\n"),
    (
        "a heredoc closed without line end",
        "text = <<EOF\nabc\nEOF",
    ),
    (
        "a heredoc closed with a comma",
        "texts = [<<EOF\nabc\nEOF,\n]\n",
    ),
    ("an open block", "task {\n  name = \"a\"\n"),
    ("an open list", "names = [\"a\",\n"),
    ("a list closed by the wrong bracket", "names = [\"a\"}"),
    ("a missing comma", "names = [\"a\" \"b\"]"),
    ("a plus sign", "priority = +5"),
    ("a detached minus", "priority = - 5"),
    ("an octal slip", "mode = 089"),
    ("a number too big", "size = 9223372036854775808"),
    ("a missing value", "task {\n  name =\n  module = \"m\"\n}"),
    ("a missing equals sign", "port 8558"),
    (
        "a missing equals sign before a string",
        "name \"x\"\nport = 1",
    ),
    ("a label with equals", "driver \"terraform\" = { }"),
    ("a brace too many", "task { }\n}"),
    ("a semicolon", "a = 1; b = 2"),
    ("a doubled equals", "a == 1"),
    ("a key that starts with a digit", "1st = \"x\""),
    ("true as key", "true = 1"),
    ("a doubled comma", "a = 1,, b = 2"),
    ("json", "{\"port\": 1}"),
];

#[test]
fn every_fault_is_reported_with_its_place_and_a_way_out() {
    let reports = FAULTS.map(|(name, source)| format!("# {name}\n{}\n", report(source)));
    insta::assert_snapshot!("faults", reports.join("\n"));
}
