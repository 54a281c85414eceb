//! Hostile input ends fast and without harm.

use std::time::Duration;

use cts_hcl1::{MAXIMUM_DEPTH, parse};

#[test]
fn nesting_up_to_the_limit_is_read() {
    let lists = format!(
        "a = {}{}",
        "[".repeat(MAXIMUM_DEPTH),
        "]".repeat(MAXIMUM_DEPTH)
    );
    assert!(parse(lists.as_bytes()).is_ok());
    let blocks = format!(
        "{}{}",
        "a{".repeat(MAXIMUM_DEPTH),
        "}".repeat(MAXIMUM_DEPTH)
    );
    assert!(parse(blocks.as_bytes()).is_ok());
}

#[test]
fn nesting_beyond_the_limit_is_an_error_at_the_opening_too_many() {
    let lists = format!("a = {}", "[".repeat(100_000));
    let error = parse(lists.as_bytes()).unwrap_err();
    assert!(error.message().contains("no deeper nesting"), "{error}");
    assert_eq!(error.span(), 4 + MAXIMUM_DEPTH..5 + MAXIMUM_DEPTH);

    let blocks = "a{".repeat(100_000);
    let error = parse(blocks.as_bytes()).unwrap_err();
    assert!(error.message().contains("no deeper nesting"), "{error}");
    assert_eq!(error.span(), 2 * MAXIMUM_DEPTH + 1..2 * MAXIMUM_DEPTH + 2);

    let mixed = format!("a={}", "[{a=".repeat(100_000));
    assert!(parse(mixed.as_bytes()).is_err());
}

#[test]
fn siblings_do_not_count_as_nesting() {
    let source = format!("a = [{}]", "[{}],".repeat(10 * MAXIMUM_DEPTH));
    assert!(parse(source.as_bytes()).is_ok());
}

#[test]
fn messages_stay_short_whatever_is_found() {
    for source in [
        format!("a = {}", "x".repeat(1 << 20)),
        format!("a = {}", "1".repeat(1 << 20)),
        format!("a = 1.{}", "_".repeat(1 << 20)),
        format!("{} 1", "x".repeat(1 << 20)),
        format!("a = <<{}\n", "E".repeat(1 << 20)),
        format!("a b{} = 1", " c".repeat(1 << 19)),
    ] {
        let error = parse(source.as_bytes()).unwrap_err();
        let length = error.message().len() + error.help().map_or(0, str::len);
        assert!(length < 500, "{length} bytes");
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "measures real time, and only to tell linear from quadratic"
)]
fn a_megabyte_of_anything_is_read_in_linear_time() {
    const SIZE: usize = 1 << 20;
    let fill = |unit: &str| unit.repeat(SIZE / unit.len());
    let heredoc_lines = format!("a = <<EOF\n{}EOF\n", fill("EOF,\n"));
    let indented_lines = format!("a = <<-EOF\n{}        EOF\n", fill("        x\n"));
    let wide_indentation = format!("a = <<-EOF\n{}\n{}EOF\n", fill(" \n"), fill(" "));
    let sources = [
        fill("\"${"),
        fill("a=\"${"),
        format!("a = \"{}\"", fill("${")),
        format!("a = \"{}\"", fill("${}")),
        format!("a = \"${{{}", fill("{")),
        format!("a = \"{}", fill("\\n")),
        format!("a = \"{}", fill("x")),
        format!("a = \"{}", fill("$")),
        format!("a = {}", fill("1")),
        format!("a = .{}", fill("1")),
        format!("a = 0.{}1", fill("0")),
        format!("a = 1e{}", fill("9")),
        format!("a = {}", fill("-")),
        format!("a = [{}]", fill("1,")),
        format!("a = [{}]", fill(",")),
        format!("a = [{}]", fill("{},")),
        format!("a = [{}", fill("<<A\nA\n,")),
        format!("a = [{}", fill("<<A\n")),
        format!("a = <<A\n{}", fill(" A")),
        format!("a = <<A\n{}", fill(" ")),
        format!("a = <<A\n{}", fill("\r")),
        heredoc_lines,
        indented_lines,
        wide_indentation,
        fill("a=1\n"),
        fill("a=1,"),
        fill("a "),
        fill("\"a\""),
        fill("a{}"),
        fill("/**/"),
        fill("/*"),
        fill("#\n"),
        fill("#"),
        fill("\r"),
        fill("a"),
        fill("é"),
        fill("<"),
        fill("<<"),
        fill("\\"),
    ];
    for source in sources {
        let started = std::time::Instant::now();
        let outcome = parse(source.as_bytes());
        let elapsed = started.elapsed();
        let beginning: String = source.chars().take(20).collect();
        // Quadratic work on a megabyte would take minutes.
        assert!(
            elapsed < Duration::from_secs(5),
            "{beginning:?} took {elapsed:?}, ok: {}",
            outcome.is_ok()
        );
    }
}
