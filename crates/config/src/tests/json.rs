//! Files in JSON (docs/configuration.md#json, #types).

mod mixed;

use std::collections::BTreeSet;

use cts_core::ProviderBlock;
use serde_json::{Value, json};

use super::{Sandbox, only};
use crate::{Config, Report};

impl Sandbox {
    /// Loads `text` as the only file, `a.json`.
    fn json(&self, text: &str) -> Config {
        self.only("a.json", text)
    }

    fn only(&self, name: &str, text: &str) -> Config {
        self.write(name, text);
        match self.load(&[name]) {
            Ok(loaded) => loaded.config,
            Err(error) => panic!("{text}\n{error:?}"),
        }
    }

    fn refused_as(&self, name: &str, text: &str) -> Report {
        self.write(name, text);
        self.refused_files(&[name])
    }

    fn warnings_of(&self, name: &str, text: &str) -> Vec<(usize, String)> {
        self.write(name, text);
        let warnings = self.load(&[name]).unwrap().warnings;
        let line_and_message =
            |problem: &crate::Problem| (problem.line().unwrap_or(0), problem.message().to_owned());
        warnings.problems().iter().map(line_and_message).collect()
    }
}

fn json_config(text: &str) -> Config {
    Sandbox::new().json(text)
}

/// Asserts that the text has exactly one problem: line, column and a part of the message.
#[track_caller]
fn assert_refused(text: &str, line: usize, column: usize, message: &str) {
    let report = Sandbox::new().refused_as("a.json", text);
    let problem = only(&report);
    let found = (problem.line(), problem.column());
    assert_eq!(found, (Some(line), Some(column)), "{text}\n{problem}");
    assert!(
        problem.message().contains(message),
        "{text}\n{problem} lacks {message}"
    );
}

fn task(extra: &str) -> String {
    format!(
        r#"{{"name": "t", "module": "./m", "condition": {{"services": {{"names": ["web"]}}}}{extra}}}"#
    )
}

#[test]
fn the_same_configuration_in_both_languages_is_the_same() {
    let sandbox = Sandbox::new();
    let hcl = sandbox.config(
        r#"
port = 9000
consul { address = "c:1" tls { verify = false } }
driver "terraform" {
  backend "s3" { bucket = "b" }
  required_providers { fw = { source = "a/fw" } }
}
terraform_provider "fw" { alias = "x" nested { a = 1 } task_env { T = "v" } }
task {
  name = "t"
  module = "./m"
  providers = ["fw.x"]
  condition "services" { names = ["web", "api"] cts_user_defined_meta { k = "v" } }
  buffer_period { min = "1s" }
}
"#,
    );
    let json = sandbox.json(
        r#"{
  "port": 9000,
  "consul": {"address": "c:1", "tls": {"verify": false}},
  "driver": {"terraform": {
    "backend": {"s3": {"bucket": "b"}},
    "required_providers": {"fw": {"source": "a/fw"}}
  }},
  "terraform_provider": {"fw": {"alias": "x", "nested": {"a": 1}, "task_env": {"T": "v"}}},
  "task": {
    "name": "t",
    "module": "./m",
    "providers": ["fw.x"],
    "condition": {"services": {"names": ["web", "api"], "cts_user_defined_meta": {"k": "v"}}},
    "buffer_period": {"min": "1s"}
  }
}"#,
    );
    assert_eq!(crate::dump(&hcl), crate::dump(&json));
    assert_eq!(hcl.tasks, json.tasks);
    // Only HCL shows whether something is written as a block.
    let formless = |config: &Config| {
        let providers = config.providers.iter().cloned();
        let providers = providers.map(|provider| ProviderBlock {
            blocks: BTreeSet::new(),
            ..provider
        });
        providers.collect::<Vec<_>>()
    };
    assert_eq!(formless(&hcl), formless(&json));
    assert!(!hcl.providers[0].blocks.is_empty() && json.providers[0].blocks.is_empty());
}

#[test]
fn nothing_at_all_may_be_written_in_two_ways() {
    assert_eq!(json_config("{}").port, 8558);
    assert_eq!(json_config("null").port, 8558);
}

#[test]
fn null_is_the_same_as_no_such_key() {
    let config = json_config(
        r#"{"port": null, "consul": {"token": null, "tls": null}, "task": null, "buffer_period": {"min": null, "max": "30s"}}"#,
    );
    assert_eq!(config.port, 8558);
    assert!(config.tasks.is_empty() && config.consul.token.is_none());
    assert_eq!(config.buffer_period.max.as_secs(), 30);
    assert_refused(
        &format!("{{\"task\": [{}]}}", task("").replace("\"t\"", "null")),
        1,
        11,
        "unique name for the task is required",
    );
    let sandbox = Sandbox::new();
    sandbox.write("1.hcl", "port = 1");
    sandbox.write("2.json", r#"{"port": null}"#);
    assert_eq!(sandbox.load(&["1.hcl", "2.json"]).unwrap().config.port, 1);
    sandbox.write("3.json", r#"{"port": 2}"#);
    assert_eq!(
        sandbox
            .load(&["1.hcl", "3.json", "2.json"])
            .unwrap()
            .config
            .port,
        2
    );
}

#[test]
fn null_in_a_list_is_an_empty_text() {
    let text = format!("{{\"task\": {}}}", task(", \n\"providers\": [\"a\", null]"));
    assert_refused(&text, 2, 20, "`providers` includes an empty string");
}

#[test]
fn last_value_of_a_repeated_key_counts_and_earlier_values_warn() {
    let sandbox = Sandbox::new();
    let text = "{\"port\": 1,\n \"consul\": {\"address\": \"a\",\n \"token\": \"x\"},\n\"port\": 2, \"consul\": {\"address\": \"b\"}}";
    let config = sandbox.json(text);
    assert_eq!((config.port, &*config.consul.address), (2, "b"));
    assert!(config.consul.token.is_none());
    let message = "this key is given again below, and only the last one counts";
    let expected = [(1, message.to_owned()), (2, message.to_owned())];
    assert_eq!(sandbox.warnings_of("a.json", text), expected);
    assert_eq!(json_config(r#"{"port": 1, "port": null}"#).port, 8558);
}

#[test]
fn keys_are_matched_without_regard_to_case_unless_one_matches_exactly() {
    assert_eq!(json_config(r#"{"PORT": 5}"#).port, 5);
    assert_refused(r#"{"port": 1, "PORT": 2}"#, 1, 13, "unknown key `PORT`");
    assert_refused(r#"{"Port": 1, "PORT": 2}"#, 1, 13, "unknown key `PORT`");
    let text = r#"{"DRIVER": {"Terraform": {"Log": true}}}"#;
    assert!(json_config(text).driver.log);
}

#[test]
fn a_list_of_one_is_not_its_element() {
    assert_refused(
        r#"{"port": [1]}"#,
        1,
        10,
        "`port` must be a whole number, not a list",
    );
    let text = format!("{{\"task\": {}}}", task(r#", "providers": [["a"]]"#));
    let report = Sandbox::new().refused_as("a.json", &text);
    assert!(report.problems()[0].message().contains("not a list"));
    let text = format!("{{\"task\": {}}}", task(", \n\"providers\": {}"));
    assert_refused(
        &text,
        2,
        14,
        "`task.providers` must be a list of strings, not an object",
    );
    let text = format!("{{\"task\": {}}}", task(r#", "providers": "a""#));
    let providers = &json_config(&text).tasks[0].definition.providers;
    assert_eq!(providers.len(), 1, "a scalar is a list of one");
}

#[test]
fn numbers_beyond_64_bits_are_refused() {
    for number in ["9223372036854775808", "-9223372036854775809", "1e400"] {
        assert_refused(&format!("{{\"port\": {number}}}"), 1, 10, "beyond 64 bits");
    }
    assert_refused(
        r#"{"port": 1e30}"#,
        1,
        10,
        "must be a whole number, not a number beyond 64 bits",
    );
    assert_refused(
        r#"{"buffer_period": {"min": 1e30}}"#,
        1,
        27,
        "beyond 64 bits",
    );
}

#[test]
fn a_list_is_no_single_block() {
    for (name, content) in [
        ("consul", r#"{"address": "x"}"#),
        ("syslog", r#"{"enabled": false}"#),
        ("tls", r#"{"enabled": false}"#),
        ("vault", r#"{"address": "x"}"#),
        ("buffer_period", r#"{"min": "5s"}"#),
        ("driver", r#"{"terraform": {}}"#),
    ] {
        let text = format!("{{\n\"{name}\": [{content}]}}");
        let message = format!("`{name}` must be a single object, not a list");
        assert_refused(&text, 2, name.len() + 5, &message);
    }
    for name in ["auth", "tls", "transport", "service_registration"] {
        let text = format!("{{\"consul\": {{\n\"{name}\": [{{}}]}}}}");
        let message = format!("`consul.{name}` must be a single object, not a list");
        assert_refused(&text, 2, name.len() + 5, &message);
    }
    assert_refused(r#"{"consul": []}"#, 1, 12, "not an empty list");
    assert_refused(
        r#"{"consul": "x"}"#,
        1,
        12,
        "`consul` must be an object, not text",
    );
    let text = format!("{{\"task\": {}}}", task("")).replace(
        r#""condition": {"services": {"names": ["web"]}}"#,
        "\n\"condition\": [{\"services\": {\"names\": [\"web\"]}}]",
    );
    assert_refused(&text, 2, 14, "must be a single object, not a list");
}

#[test]
fn the_object_of_a_condition_may_stand_in_a_list_of_one() {
    let with = |content: &str| {
        format!("{{\"task\": {}}}", task("")).replace(r#"{"names": ["web"]}"#, content)
    };
    assert_eq!(json_config(&with(r#"[{"names": ["web"]}]"#)).tasks.len(), 1);
    let two = with("[{\"names\": [\"web\"]},\n {\"names\": [\"b\"]}]");
    assert_refused(&two, 2, 2, "only one");
}

#[test]
fn repeatable_blocks_are_a_list_or_a_single_object() {
    let two = format!(
        "{{\"task\": [{}, {}]}}",
        task(""),
        task("").replace("\"t\"", "\"u\"")
    );
    assert_eq!(json_config(&two).tasks.len(), 2);
    assert_eq!(
        json_config(&format!("{{\"task\": {}}}", task("")))
            .tasks
            .len(),
        1
    );
    assert!(json_config(r#"{"task": []}"#).tasks.is_empty());
    assert_refused(
        r#"{"task": [["x"]]}"#,
        1,
        11,
        "`task` must be an object, not a list",
    );
    assert_refused(
        r#"{"task": [null]}"#,
        1,
        11,
        "`task` must be an object, not null",
    );
}

#[test]
fn a_lone_empty_object_vanishes_but_not_one_in_a_list() {
    let sandbox = Sandbox::new();
    for name in ["task", "service", "terraform_provider"] {
        let text = format!("{{\n\"{name}\": {{}}}}");
        let expected = format!("an empty `{name}` block has no effect");
        assert_eq!(sandbox.warnings_of("a.json", &text), [(2, expected)]);
        let listed = format!("{{\"{name}\": [{{}}]}}");
        sandbox.refused_as("a.json", &listed);
    }
}

#[test]
fn provider_blocks_are_objects_of_one_key() {
    let text = r#"{"terraform_provider": [{"fw": {"host": "a"}}, {"fw": {"alias": "b"}}]}"#;
    let ids = |config: &Config| -> Vec<String> {
        let ids = config.providers.iter().map(cts_core::ProviderBlock::id);
        ids.map(|id| id.to_string()).collect()
    };
    assert_eq!(ids(&json_config(text)), ["fw", "fw.b"]);
    let text = r#"{"terraform_provider": {"fw": {"host": "a"}}}"#;
    assert_eq!(ids(&json_config(text)), ["fw"]);
}

#[test]
fn free_content_is_taken_as_it_is() {
    let text = r#"{"terraform_provider": [{"fw": {
        "cidrs": ["10.0.0.0/8"], "nested": [{"a": [[1]]}], "none": null, "list": [null, "x"], "f": 1.5
    }}], "driver": {"terraform": {
        "backend": {"s3": {"a": ["x"], "b": {"c": null}}},
        "required_providers": {"fw": {"source": "a/fw", "l": ["x"]}, "dns": "1.0"}
    }}}"#;
    let config = json_config(text);
    assert_eq!(
        Value::Object(config.providers[0].arguments.clone()),
        json!({
            "cidrs": ["10.0.0.0/8"], "nested": [{"a": [[1]]}], "none": null, "list": [null, "x"], "f": 1.5
        })
    );
    assert_eq!(
        Value::Object(config.driver.backend.arguments),
        json!({"a": ["x"], "b": {"c": null}})
    );
    assert_eq!(
        Value::Object(config.driver.required_providers),
        json!({"fw": {"source": "a/fw", "l": ["x"]}, "dns": "1.0"})
    );
}

#[test]
fn lists_of_objects_are_united_where_blocks_are() {
    let text = r#"{"driver": {"terraform": {
        "backend": [{"s3": {"a": 1, "b": 1}}, {"s3": {"b": 2}}],
        "required_providers": [{"fw": "1"}, {"fw": "2", "dns": "3"}]
    }}}"#;
    let driver = json_config(text).driver;
    assert_eq!(
        Value::Object(driver.backend.arguments),
        json!({"a": 1, "b": 2})
    );
    assert_eq!(
        Value::Object(driver.required_providers),
        json!({"fw": "2", "dns": "3"})
    );
}

#[test]
fn a_backend_that_is_no_object_is_a_problem() {
    for content in ["\"x\"", "null", "5"] {
        let text = format!(
            "{{\"driver\": {{\"terraform\": {{\"backend\": {{\n\"consul\": {content}}}}}}}}}"
        );
        assert_refused(&text, 2, 11, "must be an object");
    }
}
