//! Accepted syntax, row by row of docs/configuration.md#hcl.

use crate::outline::outline;

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (source, expected) in table {
        assert_eq!(outline(source), *expected, "source: {source:?}");
    }
}

#[test]
fn empty_files_have_no_items() {
    check(&[("", ""), (" \t\r\n", ""), ("# only a comment", "")]);
}

#[test]
fn comments_are_skipped() {
    check(&[
        ("# a\na = 1 # b\n# c", "a=1"),
        ("// a\na = 1 // b", "a=1"),
        ("/* a\n b */ a /**/ = /***/ 1 /* * / */", "a=1"),
        ("a = [ # one\n 1, // two\n /* three */ 2 ]", "a=[1, 2]"),
        ("a = # the value follows\n 1", "a=1"),
        ("a = \"# // /* no comment\"", r##"a="# // /* no comment""##),
        ("/*/ still a comment */ a = 1", "a=1"),
        ("# ünïcode \u{feff}\na = 1", "a=1"),
    ]);
}

#[test]
fn lower_case_true_and_false_are_values() {
    check(&[("a = true b = false", "a=true b=false")]);
}

#[test]
fn escapes_are_resolved() {
    check(&[
        (
            r#"a = "\n\t\r\a\b\f\v\"\\""#,
            r#"a="\n\t\r\u{7}\u{8}\u{c}\u{b}\"\\""#,
        ),
        (r#"a = "\x41\101\u0041\U00000041""#, r#"a="AAAA""#),
        (r#"a = "\x41B\1012\u00e9f\U0001F600""#, r#"a="ABA2éf😀""#),
        (r#"a = "\xc3\xa9 \303\251""#, r#"a="é é""#),
        (r#"a = "\000\177""#, r#"a="\0\u{7f}""#),
        (r#"a = """#, r#"a="""#),
        (r#"a = "ünï 日本""#, r#"a="ünï 日本""#),
        ("a = \"tab\there\"", r#"a="tab\there""#),
        ("a = \"lone\rreturn\"", r#"a="lone\rreturn""#),
    ]);
}

#[test]
fn interpolations_are_kept_as_written() {
    check(&[
        (r#"a = "${b}""#, r#"a="${b}""#),
        (r#"a = "x${f("y")}z""#, r#"a="x${f(\"y\")}z""#),
        (r#"a = "${ { { } } }""#, r#"a="${ { { } } }""#),
        ("a = \"${\n1\r\n}\"", r#"a="${\n1\n}""#),
        (r#"a = "${\"\n\x41}\n""#, r#"a="${\\\"\\n\\x41}\n""#),
        (r#"a = "$${b}""#, r#"a="$${b}""#),
        (r#"a = "$b } {c $""#, r#"a="$b } {c $""#),
        (r#"a = "\x24{""#, r#"a="${""#),
        (r#"a = "${a}${b} ${"c"}""#, r#"a="${a}${b} ${\"c\"}""#),
        (r#"a = "%{ if }""#, r#"a="%{ if }""#),
        (r#"a = "{{ key \"x\" }}""#, r#"a="{{ key \"x\" }}""#),
        (r#""k${"x"}" = 1"#, r#""k${\"x\"}"=1"#),
    ]);
}

#[test]
fn heredocs_keep_their_lines() {
    check(&[
        ("a = <<EOF\none\n  two\nEOF\n", r#"a="one\n  two\n""#),
        ("a = <<EOF\nEOF\n", r#"a="""#),
        ("a = <<EOF\n\nEOF\n", r#"a="\n""#),
        ("a = <<EOF\none\n\t EOF\nb = 1", r#"a="one\n\t " b=1"#),
        ("a = <<EOF\n EOF\n", r#"a=" ""#),
        ("a = <<EOF\r\none\r\n  EOF\r\n", r#"a="one\n  ""#),
        ("a = [<<END\n\x0bEND\n]", r#"a=["\u{b}"]"#),
        (
            "a = <<EOF\nEOF2\nEOF x\nxEOF\nEOF\n",
            r#"a="EOF2\nEOF x\nxEOF\n""#,
        ),
        ("a = <<E_1\n\\n ${ \" {\nE_1\n", r#"a="\\n ${ \" {\n""#),
        ("a = <<ÄÖ\nx\nÄÖ\n", r#"a="x\n""#),
        ("a = <<1\nx\n1\n", r#"a="x\n""#),
        (
            "a = <<EOF\r\none\r\ntwo\r\nEOF\r\nb = 1\r\n",
            r#"a="one\ntwo\n" b=1"#,
        ),
        (
            "a = [<<EOF\none\nEOF\n, <<-EOF\n  two\n  EOF\n]",
            r#"a=["one\n", "two\n"]"#,
        ),
    ]);
}

#[test]
fn indented_heredocs_lose_the_indentation_of_their_closing_line() {
    check(&[
        (
            "a = <<-EOF\n    one\n      two\n    EOF\n",
            r#"a="one\n  two\n""#,
        ),
        ("a = <<-EOF\n    one\n  EOF\n", r#"a="  one\n""#),
        ("a = <<-EOF\n\tone\n\tEOF\n", r#"a="one\n""#),
        ("a = <<-EOF\n  one\nEOF\n", r#"a="  one\n""#),
        ("a = <<-EOF\n  one\n   \n  EOF\n", r#"a="one\n \n""#),
        ("a = <<-EOF\n  EOF\n", r#"a="""#),
        ("a = <<-EOF\nEOF\n", r#"a="""#),
        ("a = <<-EOF\r\n  one\r\n  EOF\r\n", r#"a="one\n""#),
        ("a = <<-E\n\x0bone\n\x0bE\n", r#"a="one\n""#),
    ]);
}

#[test]
fn indented_heredocs_stay_as_they_are_if_one_line_lacks_the_indentation() {
    check(&[
        ("a = <<-EOF\n  one\n    EOF\n", r#"a="  one\n""#),
        ("a = <<-EOF\n\tone\n  EOF\n", r#"a="\tone\n""#),
        (
            "a = <<-EOF\n  one\n\n  two\n  EOF\n",
            r#"a="  one\n\n  two\n""#,
        ),
        (
            "a = <<-EOF\n  one\n \n  two\n  EOF\n",
            r#"a="  one\n \n  two\n""#,
        ),
        ("a = <<-EOF\r\n  one\r\n\r\n  EOF\r\n", r#"a="  one\n\n""#),
        ("a = <<-EOF\none\n\x0b EOF\n", r#"a="one\n\u{b}""#),
    ]);
}

#[test]
fn numbers_have_several_notations() {
    check(&[
        ("a = 0 b = 10 c = -7", "a=0 b=10 c=-7"),
        ("a = 0x1F b = 0Xff c = -0x10", "a=31 b=255 c=-16"),
        ("a = 017 b = 00 c = -010", "a=15 b=0 c=-8"),
        (
            "a = 1e3 b = 1E+2 c = 25e-1 d = 0e0",
            "a=1000.0 b=100.0 c=2.5 d=0.0",
        ),
        (
            "a = .5 b = 1. c = 1.5 d = -0.5 e = -1.",
            "a=0.5 b=1.0 c=1.5 d=-0.5 e=-1.0",
        ),
        ("a = 0.5e1 b = 1.e1 c = -1.5e-1", "a=5.0 b=10.0 c=-0.15"),
        ("a = 08.5 b = 09.", "a=8.5 b=9.0"),
        (
            "a = 9223372036854775807 b = -9223372036854775808",
            "a=9223372036854775807 b=-9223372036854775808",
        ),
        (
            "a = 0x7fffffffffffffff b = -0x8000000000000000",
            "a=9223372036854775807 b=-9223372036854775808",
        ),
        ("a = [1,-2,3]", "a=[1, -2, 3]"),
        ("a = 1#c\nb = 2//c\nc = 3/*c*/", "a=1 b=2 c=3"),
    ]);
}

#[test]
fn keys_are_words_or_quoted() {
    check(&[
        ("a_b-c.d1 = 1", "a_b-c.d1=1"),
        ("_ = 1", "_=1"),
        ("größe = 1 名前 = 2 x٣ = 3", "größe=1 名前=2 x٣=3"),
        ("\"a b\" = 1 \"\" = 2 \"2\" = 3", "\"a b\"=1 \"\"=2 \"2\"=3"),
        (
            "\"true\" = 1 null = 2 truefalse = 3",
            "\"true\"=1 null=2 truefalse=3",
        ),
    ]);
}

#[test]
fn blocks_labels_and_objects_can_be_written_in_several_ways() {
    check(&[
        ("x { }", "x{}"),
        ("x = { }", "x={}"),
        ("\"x\" { }", "\"x\"{}"),
        ("x = [{ }, { a = 1 }]", "x=[{}, {a=1}]"),
        ("a \"b\" { }", "a \"b\"{}"),
        ("a b { }", "a b{}"),
        ("a { b { } }", "a{b{}}"),
        ("\"a\" b \"c\" d {}", "\"a\" b \"c\" d{}"),
        ("a\n\"b\"\n{\n}", "a \"b\"{}"),
        ("a\n=\n1", "a=1"),
    ]);
}

#[test]
fn repeated_keys_are_all_kept() {
    check(&[("a = 1 a = [2] a { }", "a=1 a=[2] a{}")]);
}

#[test]
fn items_are_separated_by_blanks_or_one_comma() {
    check(&[
        ("a = 1 b = 2", "a=1 b=2"),
        ("a = 1, b = 2,", "a=1 b=2"),
        ("a = 1\n, b = 2", "a=1 b=2"),
        ("x { a = 1, b { }, c = 2, }", "x{a=1 b{} c=2}"),
        (
            "x { name = \"a\" module = \"./m\" }",
            "x{name=\"a\" module=\"./m\"}",
        ),
        ("a = \"x\"b = \"y\"", "a=\"x\" b=\"y\""),
    ]);
}

#[test]
fn superfluous_commas_in_lists_are_ignored() {
    check(&[
        ("a = []", "a=[]"),
        ("a = [,]", "a=[]"),
        ("a = [,, 1,, 2 ,\n, ]", "a=[1, 2]"),
        ("a = [[1], [], [\"x\", true]]", "a=[[1], [], [\"x\", true]]"),
    ]);
}

#[test]
fn no_comma_is_needed_behind_a_list_in_a_list() {
    check(&[
        ("a = [[1] [2]]", "a=[[1], [2]]"),
        ("a = [[[]] \"x\", [] [] {}]", r#"a=[[[]], "x", [], [], {}]"#),
    ]);
}

#[test]
fn line_ends_may_be_of_windows_and_lone_returns_are_blanks() {
    check(&[
        ("a = 1\r\nb = 2\r\n", "a=1 b=2"),
        ("a = 1\rb = 2", "a=1 b=2"),
        ("# comment\ra = 1\nb = 2", "b=2"),
        ("// comment\r\na = 1", "a=1"),
    ]);
}

#[test]
fn a_last_key_without_value_is_ignored() {
    check(&[
        ("a =", ""),
        ("a = 1\nb = # nothing\n", "a=1"),
        ("a { }, \"b\" =", "a{}"),
    ]);
}
