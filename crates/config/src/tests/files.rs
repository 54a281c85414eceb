//! Finding and merging files (docs/configuration.md#files).

use secrecy::ExposeSecret;
use serde_json::json;

use super::{Sandbox, assert_problem, assert_problems, config};
use crate::ConfigError;

#[test]
fn later_files_win_and_single_blocks_are_merged() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "base.hcl",
        "port = 1\nconsul { address = \"10.0.0.1:8500\" }\n\
         driver \"terraform\" { required_providers { fw = { source = \"acme/fw\" version = \"1.0\" } dns = \"3.4.0\" } }",
    );
    sandbox.write(
        "site.hcl",
        "port = 2\nconsul { token = \"t\" }\n\
         driver \"terraform\" { required_providers { fw = { version = \"2.0\" } } }",
    );
    let config = sandbox.load(&["base.hcl", "site.hcl"]).unwrap().config;
    assert_eq!(config.port, 2);
    assert_eq!(config.consul.address, "10.0.0.1:8500");
    assert_eq!(config.consul.token.unwrap().expose_secret(), "t");
    let required = serde_json::Value::Object(config.driver.required_providers);
    assert_eq!(
        required,
        json!({ "fw": { "version": "2.0" }, "dns": "3.4.0" })
    );
}

#[test]
fn tasks_are_appended_in_order() {
    let sandbox = Sandbox::new();
    let task = |name: &str| super::task_with("").replace("\"t\"", &format!("\"{name}\""));
    sandbox.write("d/2.hcl", task("b"));
    sandbox.write("d/10.hcl", task("a"));
    sandbox.write("d/ignored.txt", "not hcl at all {");
    sandbox.write("d/deep/3.hcl", task("c"));
    sandbox.write("d/.hidden.hcl", task("h"));
    sandbox.write("d/empty.hcl", "");
    sandbox.write("last.hcl", task("z"));
    let config = sandbox.load(&["d", "last.hcl"]).unwrap().config;
    let names: Vec<_> = config
        .tasks
        .iter()
        .map(|task| task.name().as_str())
        .collect();
    assert_eq!(names, ["h", "a", "b", "z"]);
}

#[test]
fn names_missing_files_and_files_of_unknown_type() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", "port = 1");
    let report = sandbox.refused_files(&["a.hcl", "nowhere.hcl", "/dev/null"]);
    let messages: Vec<_> = report
        .problems()
        .iter()
        .map(|p| p.message().to_owned())
        .collect();
    assert_eq!(
        messages[0],
        "cannot read nowhere.hcl: there is no such file or directory"
    );
    assert!(
        messages[1].contains("/dev/null: unknown filetype"),
        "{messages:?}"
    );
}

#[test]
fn a_misspelt_path_is_given_with_the_one_that_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("conf/site.hcl", "port = 1");
    let help = |path: &str| {
        let report = sandbox.refused_files(&[path]);
        report.problems()[0].help().map(str::to_owned)
    };
    assert_eq!(
        help("conf/sites.hcl").as_deref(),
        Some("did you mean `site.hcl`?")
    );
    assert_eq!(help("cnof").as_deref(), Some("did you mean `conf`?"));
    assert_eq!(help("nowhere"), None);
    assert_eq!(help("no/such/directory"), None);
}

#[test]
fn names_unreadable_entries_of_a_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.hcl", "port = 1");
    std::os::unix::fs::symlink("nowhere", sandbox.path().join("d/b.hcl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", sandbox.path().join("d/c.json")).unwrap();
    std::os::unix::fs::symlink("a.hcl", sandbox.path().join("d/d.hcl")).unwrap();
    let report = sandbox.refused_files(&["d"]);
    let messages: Vec<&str> = report
        .problems()
        .iter()
        .map(crate::Problem::message)
        .collect();
    let expected = [
        "cannot read d/b.hcl: there is no such file or directory",
        "cannot read d/c.json: unknown filetype, neither file nor directory",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn a_file_that_is_larger_than_any_configuration_is_not_read() {
    let sandbox = Sandbox::new();
    let file = std::fs::File::create(sandbox.path().join("a.hcl")).unwrap();
    file.set_len(1 << 40).unwrap();
    let report = sandbox.refused_files(&["a.hcl"]);
    let message = report.problems()[0].message();
    assert_eq!(message, "cannot read a.hcl: it is larger than 64 MiB");
}

#[test]
fn empty_files_of_a_directory_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.hcl", "");
    assert_eq!(sandbox.load(&["d"]).unwrap().config.port, 8558);
    sandbox.write("d/b.json", "");
    let report = sandbox.refused_files(&["d"]);
    let problem = &report.problems()[0];
    assert_eq!(
        (problem.file(), problem.line()),
        (Some("d/b.json"), Some(1))
    );
    assert!(problem.message().contains("the file is empty"), "{problem}");
}

#[test]
fn files_of_other_names_and_empty_ones_are_ignored_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", "port = 1");
    sandbox.write("a.HCL", "port = 2");
    sandbox.write("empty.hcl", "");
    let loaded = sandbox.load(&["a.hcl", "a.HCL", "empty.hcl"]).unwrap();
    assert_eq!(loaded.config.port, 1);
    assert_eq!(loaded.warnings.problems().len(), 2);
}

#[test]
fn without_any_file_there_is_no_configuration() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.hcl", "");
    for paths in [&["empty.hcl"][..], &["m"], &[]] {
        let result = sandbox.load(paths);
        assert!(
            matches!(result, Err(ConfigError::NothingFound(_))),
            "{paths:?}"
        );
    }
}

#[test]
fn a_single_block_may_stand_once_in_a_file() {
    let cases = r#"
        consul { address = "a" }
        consul { token = "b" } #~ only one `consul` block can be configured

        consul {
          tls { }
          tls { } #~ only one `consul.tls` block can be configured
        }

        driver "terraform" { }
        driver "terraform" { } #~ only one `driver` block can be configured
    "#;
    assert_problems(cases);
}

#[test]
fn all_spellings_of_a_block_are_the_same() {
    for text in [
        "consul { tls { verify = false } }",
        "consul = { tls = { verify = false } }",
        "\"consul\" { \"tls\" = [{ verify = false }] }",
        "Consul { TLS { Verify = false } }",
    ] {
        assert!(!config(text).consul.tls.verify, "{text}");
    }
    for text in [
        "driver \"terraform\" { log = true }",
        "driver terraform { log = true }",
        "driver { terraform { log = true } }",
        "Driver \"Terraform\" { LOG = true }",
    ] {
        assert!(config(text).driver.log, "{text}");
    }
}

#[test]
fn inexact_key_is_unknown_next_to_the_exact_key() {
    assert_problem("port = 1\nPORT = 2", 2, "unknown key `PORT`");
    assert_eq!(config("PORT = 2").port, 2);
}

#[test]
fn repeated_scalars_are_replaced_and_lists_joined() {
    assert_eq!(config("port = 1\nport = 2").port, 2);
    let text = super::task_with("providers = [\"a\"]\nproviders = [\"b\", \"c\"]");
    let providers = &config(&text).tasks[0].definition.providers;
    let providers: Vec<_> = providers.iter().map(ToString::to_string).collect();
    assert_eq!(providers, ["a", "b", "c"]);
}

#[test]
fn a_list_of_a_later_file_replaces_that_of_an_earlier_one() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "1.hcl",
        "services {\n schedulers = [\"a:1\"]\n watchers = [\"w:1\"]\n plaintext = true\n}",
    );
    sandbox.write(
        "2.hcl",
        "services {\n schedulers = [\"b:1\"]\n schedulers = [\"c:1\"]\n plaintext = false\n}",
    );
    let services = sandbox.load(&["1.hcl", "2.hcl"]).unwrap().config.services;
    assert_eq!(services.schedulers, ["b:1", "c:1"]);
    assert_eq!(services.watchers, ["w:1"]);
    assert!(!services.plaintext);
}

#[test]
fn a_file_of_other_bytes_than_text_is_a_problem_of_that_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", b"port = 1\nid = \"\xff\"\n");
    let report = sandbox.refused_files(&["a.hcl"]);
    assert_eq!(report.problems()[0].line(), Some(2));
    assert!(report.render().contains("a.hcl:2"));
}

#[test]
fn variable_files_without_an_end_are_refused() {
    let text = super::task_with("variable_files = [\"/dev/zero\"]");
    assert_problem(&text, 5, "it is not a regular file");
}
