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

#[test]
fn an_unquoted_value() {
    insta::assert_snapshot!(report("level = debug"), @r#"
    found the word `debug`, expected a value after `=`
    | level = debug
    |         ^^^^^
    help: quote it: "debug"
    "#);
}

#[test]
fn an_unquoted_path() {
    insta::assert_snapshot!(report("module = ./modules/a:b"), @r#"
    found `.`, expected a value after `=`
    | module = ./modules/a:b
    |          ^
    help: quote it: "./modules/a:b"
    "#);
}

#[test]
fn an_unquoted_duration() {
    insta::assert_snapshot!(report("min = 10s"), @r#"
    found `10s`, which is not a number
    | min = 10s
    |       ^^^
    help: quote it: "10s"
    "#);
}

#[test]
fn an_unquoted_address() {
    insta::assert_snapshot!(report("address = 10.0.0.1:8500"), @r#"
    found `10.0.0.1`, which is not a number
    | address = 10.0.0.1:8500
    |           ^^^^^^^^
    help: quote it: "10.0.0.1:8500"
    "#);
}

#[test]
fn null_as_value() {
    insta::assert_snapshot!(report("token = null"), @"
    found the word `null`, expected a value after `=`
    | token = null
    |         ^^^^
    help: there is no `null`; leave the key out instead
    ");
}

#[test]
fn a_capital_true() {
    insta::assert_snapshot!(report("enabled = True"), @"
    found the word `True`, expected a value after `=`
    | enabled = True
    |           ^^^^
    help: write `true` in lower case
    ");
}

#[test]
fn a_function_call() {
    insta::assert_snapshot!(report("path = file(\"x\")"), @r#"
    found the word `file`, expected a value after `=`
    | path = file("x")
    |        ^^^^
    help: there are no functions; write the value itself
    "#);
}

#[test]
fn a_colon() {
    insta::assert_snapshot!(report("port: 8558"), @"
    found `:`, expected `=` or `{` after `port`
    | port: 8558
    |     ^
    help: write `=` instead of `:`
    ");
}

#[test]
fn single_quotes() {
    insta::assert_snapshot!(report("name = 'x'"), @r#"
    found `'`, expected a value after `=`
    | name = 'x'
    |        ^
    help: write double quotes (`"`) instead of single ones
    "#);
}

#[test]
fn an_open_string() {
    insta::assert_snapshot!(report("name = \"abc\nport = 1\n"), @r#"
    string is not closed: found a line break, expected `"`
    | name = "abc
    |        ^^^^
    help: close the string with `"` on the same line; write a line break as `\n` or use a heredoc (`<<EOF`)
    "#);
}

#[test]
fn an_open_interpolation() {
    insta::assert_snapshot!(report("name = \"${abc\"\nport = 1\n"), @r#"
    `${` is not closed: found end of file, expected `}`
    | name = "${abc"
    |         ^^
    help: every `{` behind `${` needs its `}`, inside quotes too; write `\x24{` for a literal `${` without end
    "#);
}

#[test]
fn an_invalid_escape() {
    insta::assert_snapshot!(report("regexp = \"^web\\d+$\""), @r#"
    invalid escape: found `\d`, expected one of `\n` `\t` `\r` `\a` `\b` `\f` `\v` `\"` `\\` `\xHH` `\OOO` `\uXXXX` `\UXXXXXXXX`
    | regexp = "^web\d+$"
    |               ^^
    help: for a backslash write `\\`; other characters need none before them
    "#);
}

#[test]
fn an_open_heredoc() {
    insta::assert_snapshot!(report("text = <<EOF\nabc\n"), @"
    heredoc is not closed: found end of file, expected a line `EOF`
    | text = <<EOF
    |        ^^^^^
    help: close the heredoc with a line that holds only `EOF`
    ");
}

#[test]
fn a_heredoc_closed_without_line_end() {
    insta::assert_snapshot!(report("text = <<EOF\nabc\nEOF"), @"
    heredoc is not closed: found end of file, expected a line `EOF`
    | text = <<EOF
    |        ^^^^^
    help: the closing line `EOF` needs a line break
    ");
}

#[test]
fn a_heredoc_closed_with_a_comma() {
    insta::assert_snapshot!(report("texts = [<<EOF\nabc\nEOF,\n]\n"), @"
    heredoc is not closed: found end of file, expected a line `EOF`
    | texts = [<<EOF
    |          ^^^^^
    help: nothing else may stand on the closing line `EOF`, not even a comma or a blank
    ");
}

#[test]
fn an_open_block() {
    insta::assert_snapshot!(report("task {\n  name = \"a\"\n"), @"
    block is not closed: found end of file, expected `}`
    | task {
    |      ^
    help: close the block with `}`
    ");
}

#[test]
fn an_open_list() {
    insta::assert_snapshot!(report("names = [\"a\",\n"), @r#"
    list is not closed: found end of file, expected `]`
    | names = ["a",
    |         ^
    help: close the list with `]`
    "#);
}

#[test]
fn a_list_closed_by_the_wrong_bracket() {
    insta::assert_snapshot!(report("names = [\"a\"}"), @r#"
    found `}`, expected `,` or `]` after a list element
    | names = ["a"}
    |             ^
    help: close the list with `]`
    "#);
}

#[test]
fn a_missing_comma() {
    insta::assert_snapshot!(report("names = [\"a\" \"b\"]"), @r#"
    found a string, expected `,` or `]` after a list element
    | names = ["a" "b"]
    |              ^^^
    help: separate the elements with `,`, or close the list with `]` if it ends before
    "#);
}

#[test]
fn a_plus_sign() {
    insta::assert_snapshot!(report("priority = +5"), @"
    found `+`, expected a value after `=`
    | priority = +5
    |            ^
    help: write the number without `+`
    ");
}

#[test]
fn a_detached_minus() {
    insta::assert_snapshot!(report("priority = - 5"), @"
    found `-`, expected a value after `=`
    | priority = - 5
    |            ^
    help: put the `-` directly before the digits
    ");
}

#[test]
fn an_octal_slip() {
    insta::assert_snapshot!(report("mode = 089"), @"
    found `089`, expected octal digits after a leading zero
    | mode = 089
    |        ^^^
    help: remove the leading zero, or quote it if it is meant as text
    ");
}

#[test]
fn a_number_too_big() {
    insta::assert_snapshot!(report("size = 9223372036854775808"), @"
    found `9223372036854775808`, expected an integer of at most 64 bits
    | size = 9223372036854775808
    |        ^^^^^^^^^^^^^^^^^^^
    help: quote it if it is meant as text
    ");
}

#[test]
fn a_missing_value() {
    insta::assert_snapshot!(report("task {\n  name =\n  module = \"m\"\n}"), @r#"
    found the word `module`, expected a value after `=`
    |   module = "m"
    |   ^^^^^^
    help: the key before `module` has no value
    "#);
}

#[test]
fn a_missing_equals_sign() {
    insta::assert_snapshot!(report("port 8558"), @"
    found the number `8558`, expected `=` or `{` after `port`
    | port 8558
    |      ^^^^
    help: put `=` between `port` and its value
    ");
}

#[test]
fn a_missing_equals_sign_before_a_string() {
    insta::assert_snapshot!(report("name \"x\"\nport = 1"), @"
    found `=` after a label, expected `{`
    | port = 1
    |      ^
    help: write a block with label without `=`; or, if `name` is an attribute, put `=` directly behind it
    ");
}

#[test]
fn a_label_with_equals() {
    insta::assert_snapshot!(report("driver \"terraform\" = { }"), @r#"
    found `=` after a label, expected `{`
    | driver "terraform" = { }
    |                    ^
    help: write a block with label without `=`; or, if `driver` is an attribute, put `=` directly behind it
    "#);
}

#[test]
fn a_brace_too_many() {
    insta::assert_snapshot!(report("task { }\n}"), @"
    found `}`, expected a key
    | }
    | ^
    help: no block is open here; remove the `}` or look for one too many
    ");
}

#[test]
fn a_semicolon() {
    insta::assert_snapshot!(report("a = 1; b = 2"), @"
    found `;`, expected a key
    | a = 1; b = 2
    |      ^
    help: there is no `;`; separate with a line break or a comma
    ");
}

#[test]
fn a_doubled_equals() {
    insta::assert_snapshot!(report("a == 1"), @"
    found `=`, expected a value after `=`
    | a == 1
    |    ^
    help: write a single `=`
    ");
}

#[test]
fn a_key_that_starts_with_a_digit() {
    insta::assert_snapshot!(report("1st = \"x\""), @r#"
    found `1st`, expected a key
    | 1st = "x"
    | ^^^
    help: quote it: "1st"
    "#);
}

#[test]
fn true_as_key() {
    insta::assert_snapshot!(report("true = 1"), @r#"
    found `true`, expected a key
    | true = 1
    | ^^^^
    help: quote it: "true"
    "#);
}

#[test]
fn a_doubled_comma() {
    insta::assert_snapshot!(report("a = 1,, b = 2"), @"
    found `,`, expected a key
    | a = 1,, b = 2
    |       ^
    help: at most one comma may follow an item
    ");
}

#[test]
fn json() {
    insta::assert_snapshot!(report("{\"port\": 1}"), @r#"
    found `{` at the start of the file: JSON in a .hcl file is not supported yet
    | {"port": 1}
    | ^
    help: give a JSON file the extension .json; an HCL file starts with a key
    "#);
}
