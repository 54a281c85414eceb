use super::*;

fn matches(text: &str, name: &str) -> bool {
    Regexp::new(text)
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
        .is_match(name)
}

#[test]
fn an_expression_is_not_anchored_and_an_empty_one_takes_everything() {
    for (text, name) in [
        ("", "web"),
        ("", ""),
        (".*", "web"),
        ("eb", "web-1"),
        ("^web", "web-1"),
        ("^(web|api)$", "api"),
        ("a{2,3}$", "aaa"),
        ("(?i)WEB", "web"),
        ("(?P<part>w)eb", "web"),
        ("(?<part>w)eb", "web"),
        ("[[:alpha:]]-[^[:^digit:]]", "web-1"),
        ("w.*?b", "web"),
    ] {
        assert!(matches(text, name), "{text} {name}");
    }
    for (text, name) in [("^eb", "web"), ("^(web|api)$", "api-1"), ("WEB", "web")] {
        assert!(!matches(text, name), "{text} {name}");
    }
}

#[test]
fn syntax_that_the_engine_reads_differently_works_as_in_go() {
    let cases = [
        // Classes and boundaries are limited to ASCII.
        (r"^\d$", "1", true),
        (r"^\d$", "٣", false),
        (r"^\w$", "ä", false),
        (r"^\W$", "ä", true),
        (r"^\s$", "\u{b}", false),
        (r"^\s$", "\u{c}", true),
        (r"a\b", "aä", true),
        (r"a\B.", "aä", false),
        (r"^[\d-]+$", "1-2", true),
        (r"^[^\d]$", "٣", true),
        (r"^[\D1]+$", "1a", true),
        // Quoting.
        (r"^\Qa.b*\E$", "a.b*", true),
        (r"^\Qa.b", "axb", false),
        (r"^\Qab\E*$", "abbb", true),
        // Escaped punctuation is literal.
        (r"^\<\>\-\_\/\@$", "<>-_/@", true),
        // Braces without a count.
        (r"^a{$", "a{", true),
        (r"^{a}$", "{a}", true),
        (r"^a{,2}$", "a{,2}", true),
        (r"^a{1,2,3}$", "a{1,2,3}", true),
        (r"^a{{2}$", "a{{", true),
        (r"^a{01}$", "a{01}", true),
        (r"^]}$", "]}", true),
        // Set operators are plain characters.
        (r"^[a&&b]+$", "a&b", true),
        (r"^[+--]+$", "-,+", true),
        (r"^[a~~b]+$", "~", true),
        (r"^[a[b]]$", "[]", true),
        (r"^[]a]+$", "]a", true),
        (r"^[^]a]$", "b", true),
        (r"^[a-]+$", "-a", true),
        (r"^[-a]+$", "-a", true),
        (r"^[\]\\\-]+$", r"]\-", true),
        (r"^[#x ]+$", "# x", true),
        // Numbers of characters.
        (r"^\x41\x{1F600}\101\0$", "A😀A\0", true),
        (r"^[\x41-\x43]+$", "ABC", true),
        (r"^\x{ff}\377$", "ÿÿ", true),
        // Flags.
        (r"^(?i:A)b$", "ab", true),
        (r"^(?i:A)b$", "aB", false),
        (r"a(?i)b|c", "C", true),
        (r"^(?i-s:A.)", "a\n", false),
        (r"^(?s).$", "\n", true),
        (r"(?m)^b$", "a\nb", true),
        (r"(?U)^a+$", "aa", true),
        (r"^(?)a(?ii)B$", "ab", true),
        // Unicode classes.
        (r"^\pL\p{Greek}\p{^Greek}\PL$", "aαa1", true),
        (r"^[\p{Lu}\d]+$", "A1", true),
        (r"(?i)^K$", "\u{212a}", true),
    ];
    for (text, name, expected) in cases {
        // Doubled backslashes have a separate test.
        assert_eq!(matches(text, name), expected, "{text} {name}");
    }
}

#[test]
fn refuses_patterns_that_go_refuses_and_names_the_wrong_part() {
    let cases = [
        ("(", "missing closing `)`: `(`"),
        ("a(b(c)", "missing closing `)`: `(b(c)`"),
        ("a)b", "unexpected `)`: `)b`"),
        ("[a", "missing closing `]`: `[a`"),
        ("[", "missing closing `]`: `[`"),
        ("x[^]", "missing closing `]`: `[^]`"),
        ("[b-a]", "invalid range: `b-a`"),
        ("[a--b]", "invalid range: `a--`"),
        (r"[a-\d]", r"invalid range: `a-\d`"),
        ("[[:foo:]]", "there is no such class: `[:foo:]`"),
        ("*", "nothing to repeat before: `*`"),
        ("a|+?", "nothing to repeat before: `+?`"),
        ("(?:*)", "nothing to repeat before: `*`"),
        ("{2}", "nothing to repeat before: `{2}`"),
        ("a**", "a repetition cannot be repeated: `*`"),
        ("a*+", "a repetition cannot be repeated: `+`"),
        ("a{2}{3}", "a repetition cannot be repeated: `{3}`"),
        ("a???", "a repetition cannot be repeated: `?`"),
        ("a{1001}", "invalid count of repetitions: `{1001}`"),
        ("a{2,1}", "invalid count of repetitions: `{2,1}`"),
        (
            "a{99999999999}",
            "invalid count of repetitions: `{99999999999}`",
        ),
        ("\\", "trailing backslash: `\\`"),
        (r"[\", r"trailing backslash: `\`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"a\1", r"invalid escape sequence: `\1`"),
        (r"\x4", r"invalid escape sequence: `\x`"),
        (r"\x{110000}", r"invalid escape sequence: `\x`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        (r"\ä", r"invalid escape sequence: `\ä`"),
        (r"\p{", r"invalid Unicode class: `\p{`"),
        (r"\p{sc=Greek}", r"invalid Unicode class: `\p{sc=Greek}`"),
        ("(?=a)", "invalid or unsupported group syntax: `(?=a)`"),
        ("(?<!a)", "invalid named group: `(?<!a)`"),
        ("(?P<a-b>x)", "invalid named group: `(?P<a-b>x)`"),
        (
            "(?P<a>x)(?P<a>y)",
            "a group of this name exists already: `a`",
        ),
        ("(?x)a", "invalid or unsupported group syntax: `(?x)a`"),
        ("(?i-)a", "invalid or unsupported group syntax: `(?i-)a`"),
        ("(?i", "invalid or unsupported group syntax: `(?i`"),
    ];
    for (text, expected) in cases {
        let error = Regexp::new(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn classes_that_do_not_exist_and_giants_are_refused_by_the_compiler() {
    for (text, reason) in [
        (r"a\p{Klingon}", "unicode property not found"),
        (r"(?:\pL{1000}){1000}", "it needs more than"),
    ] {
        let error = Regexp::new(text).expect_err(text).to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

#[test]
fn backslashes_doubled_for_the_original_count_once() {
    for text in [r"^web\\d+$", r"^web\d+$"] {
        assert!(matches(text, "web12"), "{text}");
        assert!(!matches(text, r"web\d"), "{text}");
    }
    assert!(Regexp::has_doubled_backslashes(r"a\\.b"));
    for text in [r"a\.b", r"\\d\.", "web", r"\\\d"] {
        assert!(!Regexp::has_doubled_backslashes(text), "{text}");
    }
    assert_eq!(Regexp::new(r"a\\d").unwrap().as_str(), r"a\\d");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r"[\\\[\](){}^$.|?*+a-dQEpx0-9:<>,&~ \-äi]{0,24}") {
        // The compiler accepts every translated expression, except for classes without a name.
        if let Err(InvalidRegexp::Refused(reason)) = Regexp::new(&text) {
            proptest::prop_assert!(reason.starts_with("unicode"), "{}: {}", text, reason);
        }
    }

    #[test]
    fn quoted_text_matches_itself(text in "[^\\\\]{0,12}") {
        let expression = Regexp::new(&format!(r"^\Q{text}\E$")).unwrap();
        proptest::prop_assert!(expression.is_match(&text));
    }
}

#[test]
fn a_message_shows_the_beginning_of_a_long_part() {
    let text = format!("){}", "ä".repeat(1000));
    let message = Regexp::new(&text).unwrap_err().to_string();
    let shown = format!("unexpected `)`: `){}…`", "ä".repeat(59));
    assert_eq!(message, shown);
}

#[test]
fn escapes_are_those_of_go() {
    let matches = |text: &str, name: &str| Regexp::new(text).unwrap().is_match(name);
    let whole = r"\Aweb\z";
    assert!(matches(whole, "web") && !matches(whole, "xweb") && !matches(whole, "webx"));
    assert!(matches(r"^\S$", "a") && !matches(r"^\S$", " "));
    for (escape, character) in [
        (r"\a", "\x07"),
        (r"\f", "\x0c"),
        (r"\t", "\t"),
        (r"\n", "\n"),
        (r"\r", "\r"),
        (r"\v", "\x0b"),
    ] {
        let text = format!("^x{escape}$");
        assert!(matches(&text, &format!("x{character}")), "{escape}");
        assert!(!matches(&text, &format!("x{}", &escape[1..])), "{escape}");
    }
}

#[test]
fn expressions_are_compared_by_their_texts() {
    let regexp = |text: &str| Regexp::new(text).unwrap();
    assert_eq!(regexp("a"), regexp("a"));
    assert_ne!(regexp("a"), regexp("b"));
}

#[test]
fn prefixes_are_common_to_all_matching_names() {
    for (text, prefix) in [
        ("^web-.*", "web-"),
        (r"\Aweb", "web"),
        ("^web$", "web"),
        ("^(web-a|web-b)", "web-"),
        ("^web|^api", ""),
        ("web", ""),
        ("^web|api", ""),
        ("^(?i)web", ""),
        ("", ""),
    ] {
        assert_eq!(Regexp::new(text).unwrap().prefix(), prefix, "{text}");
    }
}
