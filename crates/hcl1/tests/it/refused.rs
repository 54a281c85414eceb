//! Refused syntax, row by row of docs/configuration.md#hcl, and where the error points.

use cts_hcl1::parse;

/// Each row: the source with the span of the error between `⟦` and `⟧`, and a part of the message.
#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (marked, message) in table {
        let start = marked.find('⟦').expect("the row has a start mark");
        let end = marked.find('⟧').expect("the row has an end mark") - '⟦'.len_utf8();
        let source = marked.replace(['⟦', '⟧'], "");
        let error = parse(source.as_bytes()).expect_err(&source);
        assert_eq!(
            error.span(),
            start..end,
            "source: {source:?}, error: {error}"
        );
        assert!(
            error.message().contains(message),
            "source: {source:?}, error: {error}"
        );
    }
}

#[test]
fn open_comments() {
    check(&[
        ("a = 1 ⟦/*⟧ b = 2", "comment not terminated"),
        ("⟦/*⟧", "comment not terminated"),
        ("⟦/*⟧/", "comment not terminated"),
        ("⟦/⟧ a", "expected a key"),
    ]);
}

#[test]
fn bare_words_as_values() {
    check(&[
        ("a = ⟦abc⟧", "found the word `abc`, expected a value"),
        ("a = ⟦null⟧", "found the word `null`"),
        ("a = ⟦True⟧", "found the word `True`"),
        ("a = ⟦FALSE⟧", "found the word `FALSE`"),
        ("a = [1, ⟦x⟧]", "expected a list element"),
        ("a = ⟦var.x⟧", "found the word `var.x`"),
        ("a = ⟦file⟧(\"x\")", "found the word `file`"),
    ]);
}

#[test]
fn references_of_terraform_are_no_texts_to_quote() {
    for text in ["a = var.x", "a = [local.x]", "a = data.b.c"] {
        let error = parse(text.as_bytes()).unwrap_err();
        let help = error.help().unwrap();
        assert!(help.contains("no variables, locals or functions"), "{help}");
    }
}

#[test]
fn bad_strings() {
    check(&[
        ("a = ⟦\"abc⟧\nb = 1", "found a line break"),
        ("a = ⟦\"abc⟧\r\n\"", "found a line break"),
        ("a = ⟦\"abc⟧", "found end of file"),
        ("a = ⟦\"⟧", "found end of file"),
        ("a = ⟦\"abc\\⟧", "string is not closed"),
        ("a = ⟦\"abc\\⟧\n\"", "string is not closed"),
        ("a = ⟦'⟧x'", "found `'`"),
        (r#"a = "⟦\/⟧""#, "invalid escape: found `\\/`"),
        (r#"a = "⟦\'⟧""#, "invalid escape"),
        (r#"a = "x⟦\d⟧""#, "invalid escape"),
        (r#"a = "⟦\é⟧""#, "invalid escape"),
        (r#"a = "⟦\8⟧""#, "invalid escape"),
        (r#"a = "⟦\x4⟧g""#, "too few digits, expected 2 hexadecimal"),
        (r#"a = "⟦\x⟧""#, "too few digits"),
        (r#"a = "⟦\12⟧8""#, "too few digits, expected 3 octal"),
        (r#"a = "⟦\u123⟧ ""#, "expected 4 hexadecimal"),
        (r#"a = "⟦\U1234567⟧ ""#, "expected 8 hexadecimal"),
        (r#"a = "⟦\x4⟧é""#, "too few digits"),
        (r#"a = "⟦\400⟧""#, "octal escape above"),
        (r#"a = "⟦\777⟧""#, "octal escape above"),
        (r#"a = "⟦\ud800⟧""#, "no Unicode character"),
        (r#"a = "⟦\U00110000⟧""#, "no Unicode character"),
        (r#"a = "⟦\Uffffffff⟧""#, "no Unicode character"),
        (r#"a = ⟦"\xff"⟧"#, "not UTF-8"),
        (r#""⟦\x⟧" = 1"#, "too few digits"),
    ]);
}

#[test]
fn bad_interpolations() {
    check(&[
        ("a = \"⟦${⟧b\"\nb = 1\n", "`${` is not closed"),
        ("a = \"x ⟦${⟧ \"{\" }\"", "`${` is not closed"),
        ("a = \"⟦${⟧", "`${` is not closed"),
        (r#"a = "${ ⟦\/⟧ }""#, "invalid escape"),
        (r#"a = "${ ⟦\x4⟧ }""#, "too few digits"),
        ("a = \"${ ⟦\\⟧\n }\"", "invalid escape"),
        ("a = \"${ ⟦\\⟧", "invalid escape"),
        ("a = ⟦\"${b}⟧\n\"", "found a line break"),
    ]);
}

#[test]
fn bad_heredocs() {
    check(&[
        ("a = ⟦<<EOF⟧\ntext\n", "heredoc not terminated"),
        ("a = ⟦<<EOF⟧\ntext\nEOF", "heredoc not terminated"),
        ("a = ⟦<<EOF⟧", "heredoc not terminated"),
        ("a = [⟦<<EOF⟧\ntext\nEOF, 1]", "heredoc not terminated"),
        ("a = ⟦<<EOF⟧\ntext\nEOF \n", "heredoc not terminated"),
        ("a = ⟦<<⟧ EOF\ntext\nEOF\n", "without a marker"),
        ("a = ⟦<<-⟧\ntext\n", "without a marker"),
        ("a = ⟦<<⟧", "without a marker"),
        ("a = ⟦<<⟧\"EOF\"\ntext\nEOF\n", "without a marker"),
        ("a = <<EOF⟦ ⟧\ntext\nEOF\n", "expected a line break"),
        ("a = <<E⟦-⟧F\ntext\nE-F\n", "expected a line break"),
        ("a = <<EOF⟦\r⟧text\nEOF\n", "expected a line break"),
        ("a = ⟦<⟧EOF\ntext\nEOF\n", "found `<`"),
        (
            "⟦<<EOF\ntext\nEOF⟧\n = 1",
            "found a heredoc, expected a key",
        ),
    ]);
}

#[test]
fn bad_numbers() {
    check(&[
        ("a = ⟦+⟧5", "found `+`"),
        ("a = ⟦-⟧ 5", "found `-`"),
        ("a = ⟦-⟧x", "found `-`"),
        ("a = ⟦089⟧", "expected octal digits"),
        ("a = ⟦08⟧", "expected octal digits"),
        ("a = ⟦0b1⟧", "found `0b1`"),
        ("a = ⟦0o7⟧", "found `0o7`"),
        ("a = ⟦1_000⟧", "expected digits only"),
        ("a = ⟦1e⟧", "expected digits after the exponent"),
        ("a = ⟦1.5e+⟧", "expected digits after the exponent"),
        ("a = ⟦0x⟧", "expected hexadecimal digits"),
        ("a = ⟦0xg⟧", "not a number"),
        ("a = ⟦0x1.5⟧", "not a number"),
        ("a = ⟦0x-1⟧", "not a number"),
        ("a = ⟦9223372036854775808⟧", "at most 64 bits"),
        ("a = ⟦-9223372036854775809⟧", "at most 64 bits"),
        ("a = ⟦0xffffffffffffffff⟧", "at most 64 bits"),
        ("a = ⟦02000000000000000000000⟧", "at most 64 bits"),
        ("a = ⟦1e400⟧", "64-bit float"),
        ("a = ⟦-.5⟧", "expected a digit before the point"),
        ("a = ⟦.5e1⟧", "expected a digit before the point"),
        ("a = ⟦-.5E-1⟧", "expected a digit before the point"),
        ("a = ⟦10s⟧", "not a number"),
        ("a = ⟦1.2.3⟧", "not a number"),
        ("a = ⟦10.0.0.1⟧:8500", "not a number"),
        ("a = ⟦1-2⟧", "not a number"),
        ("a = ⟦1e5x⟧", "not a number"),
        ("a = ⟦٣⟧", "found `٣`"),
        ("a = ⟦.⟧", "found `.`"),
        ("a = ⟦.⟧e1", "found `.`"),
        ("a = 1⟦+⟧2", "expected a key"),
    ]);
}

#[test]
fn bad_keys() {
    check(&[
        ("⟦1a⟧ = 1", "expected a key"),
        ("⟦1⟧ = 1", "found the number `1`, expected a key"),
        ("⟦-⟧a = 1", "expected a key"),
        ("⟦.⟧a = 1", "expected a key"),
        ("⟦true⟧ = 1", "found `true`, expected a key"),
        ("⟦=⟧ 1", "expected a key"),
        ("x { ⟦{⟧ } }", "expected a key"),
        ("⟦[⟧]", "expected a key"),
        ("a = 1⟦;⟧ b = 2", "found `;`"),
        ("⟦}⟧", "found `}`"),
        ("a { }⟦}⟧", "found `}`"),
        ("a = 1⟦]⟧", "found `]`"),
        ("a⟦:⟧ 1", "expected `=` or `{` after `a`"),
        ("\"a\"⟦:⟧ 1", "expected `=` or `{`"),
        ("a ⟦1⟧", "expected `=` or `{`"),
        ("a⟦⟧", "found end of file, expected `=` or `{`"),
        ("x { a ⟦}⟧", "expected `=` or `{`"),
        ("a \"b\" ⟦true⟧", "expected `=` or `{`"),
        ("a ⟦\u{a0}⟧= 1", "found `\\u{a0}`"),
    ]);
}

#[test]
fn labels_with_equals() {
    check(&[
        ("a \"b\" ⟦=⟧ { }", "found `=` after a label"),
        ("a b ⟦=⟧ 1", "found `=` after a label"),
        ("name \"x\"\nb ⟦=⟧ 1", "found `=` after a label"),
    ]);
}

#[test]
fn wrong_separators_in_bodies() {
    check(&[
        ("⟦,⟧ a = 1", "expected a key"),
        ("a = 1,⟦,⟧ b = 2", "expected a key"),
        ("x {⟦,⟧}", "expected a key"),
        ("x { a = 1,⟦,⟧ }", "expected a key"),
    ]);
}

#[test]
fn bad_lists() {
    check(&[
        ("a = [1 ⟦2⟧]", "expected `,` or `]`"),
        ("a = [\"x\" ⟦\"y\"⟧]", "found a string, expected `,` or `]`"),
        ("a = [1 ⟦[⟧2]]", "expected `,` or `]`"),
        ("a = [{ } ⟦{⟧ }]", "expected `,` or `]`"),
        ("a = [\"x\"\n⟦b⟧ = 1", "expected `,` or `]`"),
        ("a = [1⟦;⟧ 2]", "expected `,` or `]`"),
        ("a = ⟦[⟧1, 2", "list is not closed"),
        ("a = ⟦[⟧", "list is not closed"),
        ("a = [⟦}⟧", "expected a list element"),
        ("a = [1⟦}⟧", "expected `,` or `]`"),
        ("a = [⟦=⟧]", "expected a list element"),
    ]);
}

#[test]
fn missing_values_and_open_blocks() {
    check(&[
        ("x { a = ⟦}⟧", "found `}`, expected a value after `=`"),
        ("a = ⟦,⟧ b = 1", "expected a value"),
        ("a =\n⟦b⟧ = 1", "expected a value"),
        ("a = ⟦=⟧ 1", "expected a value"),
        ("x ⟦{⟧ a =", "block is not closed"),
        ("x ⟦{⟧", "block is not closed"),
        ("x { y ⟦{⟧ a = 1\n", "block is not closed"),
        ("x = ⟦{⟧ a = 1", "block is not closed"),
        ("a = [⟦{⟧ b = 1", "block is not closed"),
    ]);
}

#[test]
fn json_in_an_hcl_file() {
    check(&[
        ("⟦{⟧}", "JSON in a .hcl file is not supported yet"),
        (" \r\n\t⟦{⟧\"a\": 1}", "JSON in a .hcl file"),
        ("# not JSON\n⟦{⟧ }", "expected a key"),
    ]);
}

#[test]
fn bytes_that_are_no_text() {
    for (source, span, message) in [
        (&b"a = \"\xff\""[..], 5..6, "not UTF-8"),
        (b"# \xc3", 2..3, "not UTF-8"),
        (b"a = 1 \xe2\x82 b", 6..8, "not UTF-8"),
        (b"a = \"\0\"", 5..6, "null character"),
        (b"a = 1 # \0", 8..9, "null character"),
        (b"\0 \xff", 0..1, "null character"),
        (b"\xff \0", 0..1, "not UTF-8"),
        (b"\xef\xbb\xbfa = 1", 0..3, "byte order mark"),
        (b"a = 1 \xef\xbb\xbf", 6..9, "\\u{feff}"),
        (b"\xff\xfea\0", 0..1, "not UTF-8"),
    ] {
        let error = parse(source).expect_err("these bytes are no text");
        assert_eq!(error.span(), span, "source: {source:?}, error: {error}");
        assert!(error.message().contains(message), "{source:?}: {error}");
    }
}

#[test]
fn only_the_first_error_is_reported() {
    check(&[("a = ⟦x⟧\nb = \"\n", "found the word `x`")]);
}
