//! Hostile files end fast and without harm: what takes linear time takes seconds here, what takes
//! quadratic time would take hours.

use std::time::Duration;

use super::Sandbox;
use crate::ConfigError;

const SIZE: usize = 1 << 17;

fn filled(unit: &str) -> String {
    unit.repeat(SIZE / unit.len())
}

/// `unit` with `#` replaced by ever new numbers, up to the size.
fn counted(unit: &str) -> String {
    let mut text = String::new();
    let mut count = 0;
    while text.len() < SIZE {
        text.push_str(&unit.replace('#', &count.to_string()));
        count += 1;
    }
    text
}

/// Loads the text and renders what there is to say about it, in both forms.
#[expect(
    clippy::disallowed_methods,
    reason = "measures real time, and only to tell linear from quadratic"
)]
#[track_caller]
fn assert_fast(name: &str, text: &str) {
    let sandbox = Sandbox::new();
    sandbox.write(name, text);
    let started = std::time::Instant::now();
    let report = match sandbox.load(&[name]) {
        Ok(loaded) => loaded.warnings,
        Err(ConfigError::Problems(report) | ConfigError::NothingFound(report)) => report,
    };
    let rendered = report.render();
    let json = serde_json::to_string(&report).unwrap();
    let elapsed = started.elapsed();
    let beginning: String = text.chars().take(60).collect();
    assert!(
        elapsed < Duration::from_secs(30),
        "{name} {beginning:?} took {elapsed:?}"
    );
    assert!(
        rendered.len() < 8 * SIZE && json.len() < 128 * SIZE,
        "{name} {beginning:?} gives {} and {} bytes",
        rendered.len(),
        json.len()
    );
}

#[test]
fn a_large_file_of_unknown_or_repeated_keys() {
    for text in [
        filled("a=1\n"),
        filled("a=1,"),
        counted("k#=1 "),
        counted("k#=1\n"),
        filled("port=1 "),
        filled("port=\"x\" "),
        filled("consul{} "),
        filled("task{}\n"),
        filled("task{name=\"t\"} "),
        filled("terraform_provider \"a\" {}\n"),
        format!("{} = 1", "k".repeat(SIZE)),
        format!("port = \"{}\"", "k".repeat(SIZE)),
        format!("task {{ name = \"{}\" }}", "ä".repeat(SIZE / 2)),
    ] {
        assert_fast("a.hcl", &text);
    }
}

#[test]
fn a_large_file_of_free_content() {
    for inside in [
        counted("k#=1 "),
        filled("k=1 "),
        filled("k=[1] "),
        filled("k{a=1} "),
        counted("k#{a=[1]} "),
        format!("k = [{}]", filled("[1],")),
    ] {
        let provider = format!("terraform_provider \"p\" {{ {inside} }}");
        assert_fast("a.hcl", &provider);
        let backend = format!("driver \"terraform\" {{ backend \"s3\" {{ {inside} }} }}");
        assert_fast("a.hcl", &backend);
        let required = format!("driver \"terraform\" {{ required_providers {{ {inside} }} }}");
        assert_fast("a.hcl", &required);
    }
}

#[test]
fn a_large_file_of_lists_and_maps() {
    let task = super::task_with("");
    let with = |extra: &str| task.replacen('{', &format!("{{ {extra} "), 1);
    for text in [
        with(&format!("providers = [{}]", filled("\"\","))),
        with(&filled("providers = [\"\"] ")),
        format!(
            "{} {}",
            counted("terraform_provider \"p#\" { auto_commit = true }\n"),
            with(&format!("providers = [{}]", counted("\"p#\",")))
        ),
        format!(
            "{} {}",
            counted("terraform_provider \"p#\" { x = 1 }\n"),
            with(&format!("providers = [{}]", counted("\"q#\",")))
        ),
        with(&format!(
            "description = \"{}\"",
            filled("{{ key ").repeat(16)
        )),
        with(&format!("variables {{ {} }}", counted("k#=1 "))),
        with(&filled("variables { k = 1 } ")),
        with(&format!("variables = {{ a = \"{}\" }}", "(".repeat(100))),
    ] {
        assert_fast("a.hcl", &text);
    }
}

#[test]
fn a_large_file_of_json() {
    let object = |inside: String| format!("{{{inside}\"end\":0}}");
    for text in [
        object(filled("\"a\":1,")),
        object(counted("\"k#\":1,")),
        object(filled("\"port\":1,")),
        object(filled("\"a\":\n1,")),
        format!("{{\"task\":[{}{{}}]}}", filled("{},")),
        format!("{{\"task\":[{}{{}}]}}", filled("null,")),
        format!("{{\"terraform_provider\":[{}{{}}]}}", filled("{\"a\":{}},")),
        format!(
            "{{\"terraform_provider\":{{\"p\":{}}}}}",
            object(counted("\"k#\":[1],"))
        ),
        format!("{{\"a\":\"{}\"}}", filled("\\u00e9")),
        format!("{{\"a\":\"{}", filled("\\\"")),
        format!("{{\"{}\":1}}", filled("k")),
        format!("{{\"a\":{}}}", filled("9")),
        format!("{{\"a\":-{}", filled("-")),
        format!("{{\"a\":1e{}}}", filled("9")),
        format!("{{\"a\":0.{}}}", filled("9")),
        format!("{{\"a\":{}}}", filled("x")),
        format!("{{{}", filled("//\n")),
        format!("{{{}", filled("/*")),
        filled("{"),
        filled("{\"a\":"),
        filled("["),
        filled(" "),
        filled("\n"),
        filled("\u{2003}"),
        filled("\""),
        filled("\\"),
    ] {
        assert_fast("a.json", &text);
        assert_fast("a.hcl", &text);
    }
}

#[test]
fn text_that_does_not_parse_is_covered_in_linear_time() {
    for unit in [
        "token",
        "token=",
        "token = \"",
        "token = [",
        "backend {",
        "backend ",
        "database{}",
        "a://",
        "://::",
        "x:/",
    ] {
        assert_fast("a.hcl", &format!("{} =", filled(unit)));
        assert_fast("a.json", &filled(unit));
    }
}

#[test]
fn variables_without_bounds_are_refused_at_their_place() {
    let many = vec!["1"; 300].join(",");
    let mut value = "1".to_owned();
    for variable in ["a", "b", "c", "d"] {
        value = format!("[for {variable} in [{many}] : {value}]");
    }
    let task = |more: &str| {
        format!(
            "task {{\n  name = \"a\"\n  module = \"a/b/c\"\n  condition \"services\" {{ names = [\"a\"] }}\n{more}\n}}\n"
        )
    };
    let sandbox = Sandbox::new();
    let written = task(&format!("  variables = {{ x = \"{value}\" }}"));
    sandbox.write("a.hcl", &written);
    sandbox.write("b.hcl", task("  variable_files = [\"x.tfvars\"]"));
    sandbox.write("x.tfvars", format!("x = {value}\n"));
    for (file, place) in [("a.hcl", "a.hcl:5"), ("b.hcl", "x.tfvars:1")] {
        let report = sandbox.rendered(&sandbox.refused_files(&[file]));
        assert!(report.contains("too large a value"), "{report}");
        assert!(report.contains(place), "{report}");
    }
}

/// The text is no deeper than the parser allows, but each loop puts the value of the previous one into a
/// list.
#[test]
fn values_that_loops_make_deeper_than_stored_ones_can_be_are_refused() {
    let within =
        |levels: usize, inner: &str| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
    let value = |levels| {
        let body = format!(
            "[for b in [{}] : {}]",
            within(levels, "a"),
            within(levels, "b")
        );
        format!("[for a in {} : {body}]", within(levels, "1"))
    };
    assert!(crate::tasks::variables::evaluate_text(&value(10)).is_ok());
    let error = crate::tasks::variables::evaluate_text(&value(25)).unwrap_err();
    assert!(error.contains("nested more than 64 levels"), "{error}");
}

/// Parsing the text of a template again for each element took hours.
#[test]
fn a_long_template_in_a_loop_is_refused_before_it_is_evaluated() {
    let long = "x".repeat(512 * 1024);
    let many = vec!["1"; 128 * 1024].join(",");
    let value = format!("[for a in [{many}] : \"{long}${{a}}\" == \"\"]");
    let error = crate::tasks::variables::evaluate_text(&value).unwrap_err();
    assert!(error.contains("take too long"), "{error}");
}
