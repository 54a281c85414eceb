//! `terraform_provider` and templates (spec/config.md 11).

use serde_json::{Value, json};

use super::{Sandbox, assert_problem, config, task_with};

fn arguments(text: &str) -> Value {
    Value::Object(config(text).providers[0].arguments.clone())
}

#[test]
fn arguments_are_kept_and_the_environment_is_taken_out() {
    let config = config(
        "terraform_provider \"fw\" { alias = \"north\" auto_commit = true host = \"h\"\n\
         task_env { A = \"1\" \"B\" = \"2\" } }",
    );
    let provider = &config.providers[0];
    assert_eq!(provider.id().to_string(), "fw.north");
    let expected = json!({ "alias": "north", "auto_commit": true, "host": "h" });
    assert_eq!(Value::Object(provider.arguments.clone()), expected);
    let environment: Vec<_> = provider.task_env.iter().collect();
    assert_eq!(environment.len(), 2);
    assert_eq!(provider.task_env["B"], "2");
}

#[test]
fn lists_of_one_element_become_their_element() {
    let text = "terraform_provider \"p\" { a = [\"x\"] b = [\"x\", \"y\"] c = [[\"x\"]] d = [] e = [{ f = [1] }] }";
    let expected = json!({ "a": "x", "b": ["x", "y"], "c": "x", "d": [], "e": { "f": 1 } });
    assert_eq!(arguments(text), expected);
}

#[test]
fn nested_blocks_are_an_object_or_a_list() {
    let text = "terraform_provider \"p\" { one { a = 1 } two { a = 1 } two { a = 2 } three \"l\" { a = 3.5 } }";
    let expected = json!({
        "one": { "a": 1 }, "two": [{ "a": 1 }, { "a": 2 }], "three": { "l": { "a": 3.5 } }
    });
    assert_eq!(arguments(text), expected);
    assert_problem(
        "terraform_provider \"p\" { a = 1\n a { } }",
        2,
        "both as a value and as a block",
    );
}

#[test]
fn an_alias_that_is_no_string_is_no_alias() {
    assert_eq!(
        config("terraform_provider \"p\" { alias = 5 }").providers[0].alias,
        None
    );
}

#[test]
fn malformed_provider_blocks_are_refused() {
    let cases = [
        (
            "terraform_provider { }\nterraform_provider \"a\" { }",
            1,
            "missing provider name",
        ),
        (
            "terraform_provider {\n a = 1\n b = 2 }",
            3,
            "unexpected block labels `a`, `b`",
        ),
        ("terraform_provider { a = 1 }", 1, "unexpected block format"),
        (
            "terraform_provider \"a\" { task_env = \"x\" }",
            1,
            "unexpected `task_env` block format",
        ),
        (
            "terraform_provider \"a\" { task_env { }\n task_env { } }",
            2,
            "more than once",
        ),
        (
            "terraform_provider \"a\" { task_env {\n X = 3 } }",
            2,
            "the value of `X` must be a string",
        ),
        (
            "terraform_provider \"a\" { }\nterraform_provider \"a\" { }",
            2,
            "duplicate provider configuration for `a`",
        ),
        ("provider \"a\" { }", 1, "unknown key `provider`"),
    ];
    for (text, line, message) in cases {
        assert_problem(text, line, message);
    }
}

#[test]
fn a_lone_empty_block_vanishes_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", "terraform_provider { }\ntask { }");
    let loaded = sandbox.load(&["a.hcl"]).unwrap();
    assert!(loaded.config.providers.is_empty() && loaded.config.tasks.is_empty());
    assert_eq!(loaded.warnings.problems().len(), 2);
}

#[test]
fn templates_in_provider_blocks_are_not_supported_yet() {
    let text = "terraform_provider \"p\" {\n task_env { A = \"{{ key \\\"x\\\" }}\" }\n}";
    assert_problem(text, 2, "not supported yet");
    let text = "terraform_provider \"p\" { a { b = [\"{{ with secret \\\"x\\\" }}\", \"c\"] } }";
    assert_problem(text, 1, "not supported yet");
}

#[test]
fn templates_elsewhere_are_refused_but_where_they_are_literal() {
    let template = "\"{{ env \\\"HOME\\\" }}\"";
    assert_problem(
        &format!("working_dir = {template}"),
        1,
        "only allowed in the values",
    );
    assert_problem(
        &task_with(&format!("description = {template}")),
        5,
        "only allowed in the values",
    );
    assert!(
        config(&format!("consul {{ token = {template} }}"))
            .consul
            .token
            .is_some()
    );
}

#[test]
fn a_provider_that_commits_serves_one_task() {
    let task =
        |name: &str| task_with("providers = [\"p.a\"]").replace("\"t\"", &format!("\"{name}\""));
    let provider = "terraform_provider \"p\" { alias = \"a\" auto_commit = true }";
    let text = format!("{provider}\n{}\n{}", task("one"), task("two"));
    assert_problem(
        &text,
        12,
        "`p.a` has `auto_commit` and may be used by one task only",
    );
    let harmless = text.replace("= true", "= \"true\"");
    assert_eq!(config(&harmless).tasks.len(), 2);
}
