//! JSON next to HCL (docs/configuration.md#files), and JSON in files that end in `.hcl`.

use cts_core::BufferPeriod;

use super::{only, task};
use crate::tests::{Sandbox, task_with};

#[test]
fn files_of_both_languages_are_merged() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "d/1.hcl",
        "port = 1\nconsul { address = \"a:1\" tls { verify = false } }\nbuffer_period { min = \"1s\" }",
    );
    sandbox.write(
        "d/2.json",
        r#"{"consul": {"token": "t", "tls": {"ca_cert": "c"}}, "buffer_period": {"enabled": false}}"#,
    );
    sandbox.write("d/3.hcl", task_with(""));
    sandbox.write(
        "d/4.json",
        format!("{{\"task\": {}}}", task("").replace("\"t\"", "\"j\"")),
    );
    let config = sandbox.load(&["d"]).unwrap().config;
    assert_eq!((config.port, &*config.consul.address), (1, "a:1"));
    assert!(config.consul.token.is_some());
    assert!(!config.consul.tls.verify && config.consul.tls.ca_cert == "c");
    assert_eq!(config.buffer_period, BufferPeriod::DISABLED);
    let names: Vec<&str> = config
        .tasks
        .iter()
        .map(|task| task.name().as_str())
        .collect();
    assert_eq!(names, ["t", "j"]);
}

#[test]
fn the_same_name_in_two_languages_is_a_duplicate() {
    let sandbox = Sandbox::new();
    sandbox.write("1.hcl", task_with(""));
    sandbox.write("2.json", format!("{{\n\"task\": {}}}", task("")));
    let report = sandbox.refused_files(&["1.hcl", "2.json"]);
    let problem = &report.problems()[0];
    assert_eq!((problem.file(), problem.line()), (Some("2.json"), Some(2)));
    assert!(problem.message().contains("duplicate task name"));
}

#[test]
fn json_in_a_file_of_hcl_must_be_json_and_means_what_hcl_means() {
    let sandbox = Sandbox::new();
    let config = sandbox.only(
        "a.hcl",
        r#"
        {"consul": [{"address": ["a:1"], "token": null}], "port": 1, "port": 2,
         "task": [{"name": "t\/x", "name": "t", "module": "./m", "condition": {"services": {"names": ["web"]}},
                   "providers": ["a"], "providers": ["b"]}],
         "terraform_provider": {"fw": {"cidrs": ["10.0.0.0/8"]}}}"#,
    );
    assert_eq!((config.port, &*config.consul.address), (2, "a:1"));
    assert_eq!(config.tasks[0].definition.providers.len(), 2);
    assert_eq!(config.providers[0].arguments["cidrs"], "10.0.0.0/8");
    for (text, column, message) in [
        (r#"{"port": 1,}"#, 11, "comma behind the last value"),
        (r#"{"port": 1"#, 1, "not closed"),
        (r#"{"port": 1} port = 2"#, 13, "behind the end"),
        (r#"{"id": "\a"}"#, 9, "not an escape"),
        (r#"{"port": 99999999999999999999}"#, 10, "beyond 64 bits"),
        ("{ }\n# comment", 1, "unexpected character"),
    ] {
        let report = sandbox.refused_as("a.hcl", text);
        let problem = only(&report);
        assert_eq!(problem.column(), Some(column), "{text}: {problem}");
        assert!(problem.message().contains(message), "{text}: {problem}");
        assert!(
            problem.help().unwrap().contains("is read as JSON"),
            "{text}"
        );
    }
}
