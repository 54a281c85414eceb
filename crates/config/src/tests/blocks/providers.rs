//! `terraform_provider` (`docs/configuration.md#terraform_provider`).

use serde_json::{Value, json};

use super::super::{
    ConfigError, Sandbox, assert_problem, assert_problems, config, only, task_with,
};

fn arguments(text: &str) -> Value {
    Value::Object(config(text).providers[0].arguments.clone())
}

#[test]
fn arguments_are_kept_and_the_environment_is_taken_out() {
    let config = config(
        "terraform_provider \"fw\" { alias = \"north\" auto_commit = true host = \"h\"\n\
         task_env { A = \"1\" \"B\" = [\"2\"] } }",
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
fn blocks_of_providers_are_recognised_at_any_depth() {
    let blocks = |text: &str| {
        let blocks = config(text).providers[0].blocks.clone();
        let paths = blocks.into_iter().map(|path| path.join("."));
        paths.collect::<Vec<_>>()
    };
    let text = "terraform_provider \"p\" {\n\
        features { key_vault { purge = true } tags = { a = { b = 1 } } }\n\
        rule { n = 1 in { } }\n rule { n = 2 in = { } }\n\
        both { }\n both = { }\n map = { x { } } }";
    assert_eq!(blocks(text), ["features", "features.key_vault", "rule"]);
    let sandbox = Sandbox::new();
    let json = json!({ "terraform_provider": { "p": { "features": { "a": 1 } } } });
    sandbox.write("a.json", json.to_string());
    let loaded = sandbox.load(&["a.json"]).unwrap();
    assert!(loaded.config.providers[0].blocks.is_empty());
}

#[test]
fn an_alias_is_text_or_digits() {
    let alias = |text: &str| {
        let text = format!("terraform_provider \"p\" {{ alias = {text} }}");
        config(&text).providers[0].alias.clone()
    };
    assert_eq!(alias("\"a\"").as_deref(), Some("a"));
    assert_eq!(alias("[\"a\"]").as_deref(), Some("a"));
    assert_eq!(alias("5").as_deref(), Some("5"));
    for (wrong, found) in [
        ("alias = true", "a boolean"),
        ("alias = [\"a\", \"b\"]", "a list"),
        ("alias { }", "a block"),
    ] {
        let text = format!("terraform_provider \"p\" {{\n{wrong} }}");
        let message = format!("`alias` of a provider must be text, not {found}");
        assert_problem(&text, 2, &message);
    }
    let two = "terraform_provider \"p\" { alias = 1 }\nterraform_provider \"p\" { alias = 2 }";
    assert_eq!(config(two).providers.len(), 2);
    assert_problem(
        "terraform_provider \"p\" { alias = 1 }\nterraform_provider \"p\" { alias = \"1\" }",
        2,
        "duplicate provider configuration for `p.1`",
    );
}

#[test]
fn a_second_label_is_a_nested_block() {
    let config = config("terraform_provider \"p\" \"q\" { a = 1 }");
    assert_eq!(config.providers[0].id().to_string(), "p");
    let arguments = Value::Object(config.providers[0].arguments.clone());
    assert_eq!(arguments, json!({ "q": { "a": 1 } }));
}

#[test]
fn panos_needs_a_user() {
    let warnings = |sandbox: &Sandbox, text: &str| {
        sandbox.warnings(&format!("terraform_provider \"panos\" {{ {text} }}"))
    };
    let mut sandbox = Sandbox::new();
    for text in ["", "hostname = \"h\" username = \"\""] {
        assert_eq!(
            warnings(&sandbox, &format!("alias = \"a\" {text}")),
            ["provider `panos` needs a `username`, or the variable PANOS_USERNAME"],
            "{text}"
        );
    }
    for text in ["username = \"u\"", "json_config_file = \"f\""] {
        assert!(warnings(&sandbox, text).is_empty(), "{text}");
    }
    sandbox.set("PANOS_USERNAME", "u");
    assert!(warnings(&sandbox, "alias = \"a\"").is_empty());
}

#[test]
fn commits_of_panos_are_accepted_and_unchecked_certificates_warned_of() {
    let warnings = |name: &str, more: &str| {
        let text = format!("terraform_provider \"{name}\" {{ username = \"u\"\n {more} }}");
        let sandbox = Sandbox::new();
        sandbox.warnings(&text)
    };
    let [warning] = warnings("panos", "auto_commit = true").try_into().unwrap();
    assert!(
        warning.contains("does not check the certificate"),
        "{warning}"
    );
    for harmless in [
        "auto_commit = \"true\"",
        "auto_commit = false",
        "auto_commit = true verify_certificate = true",
        "auto_commit = true skip_verify_certificate = true",
        "auto_commit = true json_config_file = \"f\"",
    ] {
        assert!(warnings("panos", harmless).is_empty(), "{harmless}");
    }
    assert!(warnings("other", "auto_commit = true").is_empty());
}

#[test]
fn fake_sync_needs_a_name_and_flags() {
    let read = |text: &str| format!("terraform_provider \"fake-sync\" {{ {text} }}");
    for text in ["err = true", "name = \"\"", "name = true", "name { a = 1 }"] {
        assert_problem(&read(text), 1, "provider `fake-sync` needs a `name`");
    }
    for name in ["err", "success_first"] {
        let text = read(&format!("name = \"x\" {name} = \"true\""));
        let expected = format!("`{name}` of provider `fake-sync` must be true or false");
        assert_problem(&text, 1, &expected);
    }
    let whole = config(&read("name = \"x\" err = true success_first = true"));
    assert_eq!(whole.providers[0].arguments["err"], json!(true));
}

#[test]
fn malformed_provider_blocks_are_refused() {
    let cases = r#"
        terraform_provider { } #~ missing provider name
        terraform_provider "a" { }

        terraform_provider {
          a = 1
          b = 2 } #~ unexpected block labels `a`, `b`

        terraform_provider { a = 1 } #~ unexpected block format
        terraform_provider "a" { task_env = "x" } #~ unexpected task_env block format

        terraform_provider "a" { task_env { }
          task_env { } } #~ more than once

        terraform_provider "a" { task_env {
          X = 3 } } #~ the value of `X` must be a string

        terraform_provider "a" { }
        terraform_provider "a" { } #~ duplicate provider configuration for `a`
    "#;
    assert_problems(cases);
}

#[test]
fn malformed_provider_blocks_in_json_are_refused() {
    let cases = [
        (json!([{}]), "missing provider name"),
        (
            json!([{ "a": {}, "b": {} }]),
            "unexpected block labels `a`, `b`",
        ),
        (
            json!({ "a": [{ "x": 1 }] }),
            "the content of `a` must be a block",
        ),
        (json!({ "a": "x" }), "the content of `a` must be a block"),
        (
            json!({ "a": { "task_env": { "X": 3 } } }),
            "the value of `X` must be a string",
        ),
        (
            json!({ "a": { "task_env": [{ "X": "3" }] } }),
            "unexpected task_env block format",
        ),
        (
            json!([{ "a": {} }, { "a": { "alias": null } }]),
            "duplicate provider configuration for `a`",
        ),
        (
            json!({ "a": { "alias": ["x"] } }),
            "`alias` of a provider must be text",
        ),
        (json!(["a"]), "must be"),
    ];
    for (blocks, message) in cases {
        let sandbox = Sandbox::new();
        let text = json!({ "terraform_provider": blocks }).to_string();
        sandbox.write("a.json", &text);
        let report = sandbox.refused_files(&["a.json"]);
        let problem = only(&report);
        assert!(problem.message().contains(message), "{text}\n{problem}");
    }
}

#[test]
fn ids_are_unique_over_all_files() {
    let sandbox = Sandbox::new();
    sandbox.write("1.hcl", "terraform_provider \"a\" { alias = \"x\" }");
    sandbox.write("2.hcl", "terraform_provider \"a\" { alias = \"y\" }");
    sandbox.write("3.hcl", "\nterraform_provider \"a\" { alias = \"x\" }");
    let loaded = sandbox.load(&["1.hcl", "2.hcl"]).unwrap();
    assert_eq!(loaded.config.providers.len(), 2);
    let report = sandbox.refused_files(&["1.hcl", "3.hcl"]);
    let problem = only(&report);
    assert_eq!((problem.file(), problem.line()), (Some("3.hcl"), Some(2)));
    assert_eq!(problem.help(), Some("the first one is at 1.hcl:1:20"));
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

/// A module `./aliased` that must be called with these providers.
fn write_aliased(sandbox: &Sandbox, aliases: &str) {
    let required = format!("fw = {{ source = \"a/fw\", configuration_aliases = [{aliases}] }}");
    let text = format!("terraform {{\n required_providers {{\n {required}\n }}\n}}\n");
    sandbox.write("aliased/main.tf", text + "variable \"services\" {}\n");
}

#[test]
fn a_local_module_may_have_several_instances_of_a_provider_under_its_aliases() {
    let sandbox = Sandbox::new();
    let providers = |module: &str, providers: &str| {
        let text = task_with(&format!("providers = [{providers}]"));
        sandbox.write("a.hcl", text.replace("./m", module));
        let loaded = sandbox.load(&["a.hcl"]);
        loaded.map_err(|error| match error {
            ConfigError::Problems(report) => only(&report).message().to_owned(),
            ConfigError::NothingFound(_) => panic!("nothing found"),
        })
    };
    let both = "\"fw.north\", \"fw.south\"";
    let once = "only one provider instance per task: provider `fw` is listed twice";
    write_aliased(&sandbox, "fw.north, fw.south");
    let loaded = providers("./aliased", both).unwrap();
    assert_eq!(loaded.config.tasks[0].definition.providers.len(), 2);
    assert!(providers("./aliased", "\"fw\", \"fw.north\"").is_ok());
    assert_eq!(
        providers("./aliased", "\"fw.north\", \"fw.north\"").unwrap_err(),
        once
    );
    assert_eq!(providers("acme/aliased/fw", both).unwrap_err(), once);
    write_aliased(&sandbox, "fw.north");
    let missing = format!(
        "{once}, and the module does not have the alias of each in `configuration_aliases`"
    );
    assert_eq!(providers("./aliased", both).unwrap_err(), missing);
    assert_eq!(providers("./m", both).unwrap_err(), missing);
}
