//! `condition` of a task (docs/configuration.md#condition).

use cts_core::{BufferPeriod, Condition, TaskSpec};

use super::{Sandbox, assert_each, assert_problem};
use crate::Report;

/// A task with `content`, which begins in line 2.
pub(super) fn with(content: &str) -> String {
    format!("task {{ name = \"t\" module = \"./m\"\n{content} }}")
}

/// The first task of a valid configuration, and the warnings about it.
pub(super) fn loaded(text: &str) -> (TaskSpec, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", format!("{text}\n"));
    let mut loaded = sandbox
        .load(&["a.hcl"])
        .unwrap_or_else(|error| panic!("{text}\n{error:?}"));
    let messages = |report: &Report| {
        let problems = report.problems().iter();
        problems
            .map(|problem| {
                let line = problem.line().unwrap_or(0);
                format!("{line}: {}", problem.message())
            })
            .collect::<Vec<_>>()
    };
    let warnings = messages(&loaded.warnings);
    (loaded.config.tasks.remove(0), warnings)
}

#[track_caller]
pub(super) fn assert_warning(text: &str, line: usize, message: &str) {
    let (_, warnings) = loaded(text);
    let [warning] = warnings.as_slice() else {
        panic!("{text}\n{warnings:#?}");
    };
    assert!(
        warning.starts_with(&format!("{line}: ")) && warning.contains(message),
        "{warning:?} lacks {message:?}"
    );
}

#[test]
fn conditions_are_checked() {
    let cases = r#"
        condition "services" { } #~ either the regexp or names field must be configured
        condition "services" { names = [] } #~ either the regexp or names field must be configured
        condition "services" { names = ["a", ""] } #~ names field includes empty string(s). services names cannot be empty
        condition "services" { names = ["a"] regexp = "" } #~ regexp and names cannot both be configured
        condition "services" { regexp = "a(" } #~ no regular expression: missing closing `)`: `(`
        condition "services" { regexp = "\\p{Klingon}" } #~ unicode property not found
        condition "services" { names = {} } #~ must be a list of strings
        condition "services" { names = ["a"] filter = "a == b\u0000" } #~ filter` must be text, not text with the character U+0000
        condition "services" { names = ["a"] cts_user_defined_meta { "a\u0000" = "b" } } #~ cts_user_defined_meta` has the character U+0000
        condition "services" { names = ["a"] recurse = true } #~ unknown key `recurse`
        condition "services" { names = ["a"] node_meta { } } #~ unknown key `node_meta`
        condition "catalog-services" { } #~ 'regexp' field must be set
        condition "catalog-services" { regexp = "*" } #~ nothing to repeat before: `*`
        condition "catalog-services" { regexp = "" filter = "a" } #~ unknown key `filter`
        condition "consul-kv" { } #~ path is required for consul-kv condition
        condition "consul-kv" { path = "" } #~ path is required for consul-kv condition
        condition "consul-kv" { path = ["a", "b"] } #~ must be text, not a list
        condition "consul-kv" { path = "a" regexp = "a" } #~ unknown key `regexp`
        condition "schedule" { } #~ cron config is required for schedule condition
        condition "schedule" { cron = "" } #~ cron config is required for schedule condition
        condition "schedule" { cron = "* * * *" } #~ missing field(s)
        condition "schedule" { cron = "0 0 30 2 *" } #~ it never fires
        condition "schedule" { cron = "0 0 1 1 * 2020" } #~ its last time has passed
        condition "schedule" { cron = "5-1 * * * *" } #~ is reversed
        condition "schedule" { cron = "@daily" use_as_module_input = true } #~ unknown key
        condition "no-condition" { names = ["a"] } #~ unknown key `names`
        condition "service" { names = ["a"] } #~ unsupported condition type `service`
        condition "Services" { names = ["a"] } #~ unsupported condition type `Services`
        condition { } #~ needs a label
        condition { services { names = ["a"] } schedule { cron = "@daily" } } #~ only one condition can be configured in a task, and there is `services` already
        condition { services { names = ["a"] } services { names = ["b"] } } #~ only one condition
    "#;
    assert_each(cases, with, assert_problem);
}

#[test]
fn a_suggestion_is_made_for_a_misspelt_type() {
    let sandbox = Sandbox::new();
    for (content, meant) in [
        ("condition \"catalog-service\" { }", "catalog-services"),
        (
            "condition \"no-condition\" { }\nmodule_input \"consul_kv\" { }",
            "consul-kv",
        ),
    ] {
        let report = sandbox.refused(&with(content));
        let expected = format!("did you mean `{meant}`?");
        assert_eq!(report.problems()[0].help(), Some(expected.as_str()));
    }
}

#[test]
fn a_task_without_a_condition_runs_once() {
    let (task, warnings) = loaded(&with(""));
    assert_eq!(task.definition.condition, Condition::NoCondition);
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert!(
        warning
            .contains("task should be configured with a condition block: without one it runs once"),
        "{warning}"
    );
    // An explicit value gets no warning.
    let (_, warnings) = loaded(&with("condition \"no-condition\" { }"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_warning(
        &with("services = []\ncondition \"no-condition\" { }"),
        2,
        "`services` is deprecated",
    );
}

#[test]
fn a_schedule_is_never_buffered() {
    let schedule = "condition \"schedule\" { cron = \"@daily\" }";
    for (buffer, warned) in [
        ("", false),
        ("buffer_period { }", false),
        ("buffer_period { enabled = false }", false),
        ("buffer_period { min = \"1s\" }", true),
    ] {
        let (task, warnings) = loaded(&with(&format!("{schedule}\n{buffer}")));
        assert_eq!(task.buffer_period, BufferPeriod::DISABLED);
        let shown = task.buffer_setting.unwrap();
        assert_eq!(
            (shown.enabled, shown.min),
            (Some(false), Some(std::time::Duration::ZERO))
        );
        assert_eq!(warnings.len(), usize::from(warned), "{buffer}");
    }
    let sandbox = Sandbox::new();
    let two = format!(
        "{}\n{}\n",
        with(&format!("{schedule}\nbuffer_period {{ min = \"1s\" }}")),
        with(schedule).replace("\"t\"", "\"other\"")
    );
    sandbox.write("a.hcl", two);
    let overridden = sandbox.load(&["a.hcl"]).unwrap().config.overridden_buffers;
    let overridden: Vec<_> = overridden.iter().map(cts_core::TaskName::as_str).collect();
    assert_eq!(overridden, ["t"]);
}

#[test]
fn the_former_name_of_a_key_works_with_a_warning() {
    for (kind, required) in [
        ("services", "names = [\"a\"]"),
        ("catalog-services", "regexp = \"\""),
        ("consul-kv", "path = \"a\""),
    ] {
        let text = |flags: &str| with(&format!("condition \"{kind}\" {{ {required}\n{flags} }}"));
        let uses = |flags: &str| match loaded(&text(flags)).0.definition.condition {
            Condition::Services(services) => services.use_as_module_input,
            Condition::CatalogServices(services) => services.use_as_module_input,
            Condition::ConsulKv(pairs) => pairs.use_as_module_input,
            Condition::Schedule(_) | Condition::NoCondition => panic!("{kind}"),
        };
        assert!(uses("") && !uses("use_as_module_input = false"));
        assert!(uses("source_includes_var = true") && !uses("source_includes_var = false"));
        assert!(uses(
            "source_includes_var = false use_as_module_input = true"
        ));
        assert_warning(
            &text("source_includes_var = false"),
            3,
            "`source_includes_var` is deprecated, use `use_as_module_input`",
        );
        assert_warning(
            &text("source_includes_var = false use_as_module_input = true"),
            3,
            "it is ignored here, because that is configured as well",
        );
    }
}

#[test]
fn source_is_the_former_name_of_module() {
    let text = |keys: &str| {
        format!("task {{ name = \"t\"\n{keys}\ncondition \"services\" {{ names = [\"a\"] }} }}")
    };
    let module = |keys: &str| loaded(&text(keys)).0.definition.module;
    assert_eq!(module("source = \"./m\""), "./m");
    assert_eq!(module("module = \"./m\" source = \"./elsewhere\""), "./m");
    assert_warning(
        &text("source = \"./m\""),
        2,
        "`source` is deprecated, use `module`",
    );
    assert_warning(
        &text("source = \"./x\" module = \"./m\""),
        2,
        "it is ignored here, because that is configured as well",
    );
    assert_problem(&text("source = \"\""), 2, "`module` must not be empty");
}

#[test]
fn a_filter_that_is_not_sent_is_a_warning_at_its_place() {
    let refused =
        "this `filter` is not sent to Consul, and its task does not run until it is mended: ";
    let reasons = [
        (
            "((((((((((",
            "more than 8 parentheses are open at character 9",
        ),
        (
            "a == b and",
            "the operator at character 8 has nothing to its right",
        ),
    ];
    for (filter, reason) in reasons {
        let filter = format!("\nfilter = \"{filter}\"");
        let expected = format!("{refused}{reason}");
        let condition = format!("condition \"services\" {{ names = [\"a\"] {filter} }}");
        assert_warning(&with(&condition), 3, &expected);
        let input = format!(
            "condition \"schedule\" {{ cron = \"@daily\" }}
             module_input \"services\" {{ names = [\"a\"] {filter} }}"
        );
        assert_warning(&with(&input), 4, &expected);
        let block = format!(
            "{}\nservice {{ name = \"a\" {filter} }}",
            with("services = [\"a\"]")
        );
        let (_, warnings) = loaded(&block);
        let expected = format!("4: {expected}");
        assert!(warnings.contains(&expected), "{warnings:#?}");
    }
    // The limit of files is above that of requests.
    let deep =
        "condition \"services\" { names = [\"a\"] filter = \"(((((((Node.Node == a)))))))\" }";
    assert_eq!(loaded(&with(deep)).1, [""; 0]);
}
