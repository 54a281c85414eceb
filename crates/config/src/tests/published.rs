//! Configurations as people publish and report them: what they rely on, in the forms that they use.

use serde_json::{Value, json};

use super::{Sandbox, assert_problem, task_with};

/// A sandbox with everything that the configurations name.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("m/main.tf", super::module());
    sandbox.write(
        "tenant/main.tf",
        format!(
            "{}\nvariable \"tenant\" {{}}\nvariable \"port\" {{}}\nvariable \"enabled\" {{\n  type    = bool\n  default = null\n}}\n",
            super::module()
        ),
    );
    sandbox.write("one.tfvars", "tenant=\"one\"\nport=8443");
    sandbox.write(
        "nia/input.tf",
        "tenant = \"two\"\nport = 80\nenabled = null\n",
    );
    sandbox.write("comments.tfvars", "# nothing is set\n// nor here");
    sandbox
}

fn loaded(text: &str) -> Value {
    let sandbox = sandbox();
    sandbox.write("a.hcl", text);
    match sandbox.load(&["a.hcl"]) {
        Ok(loaded) => crate::dump_json(&loaded.config),
        Err(crate::ConfigError::Problems(report)) => panic!("{text}\n{}", report.render()),
        Err(other) => panic!("{text}\n{other:?}"),
    }
}

#[test]
fn published_configurations_are_accepted_with_their_meaning() {
    let cases: [(&str, &str, Value); 16] = [
        (
            r#"service {
                 name = "rest"
                 filter = "\"dev\" in Service.Tags"
                 cts_user_defined_meta = {
                   vs-port = 80,
                   vs-proto = "tcp"
                   on = true
                 }
               }
               task { name = "t" enabled = true, module = "./m" services = ["rest"] variable_files = [] }"#,
            "/task/0/enabled",
            json!(true),
        ),
        (
            r#"task { name = "t" module = "./m"
                 condition "schedule" { cron = "*/4 * * * * * *" }
                 module_input "consul-kv" { path = "lb/a" }
                 module_input "services" { names = ["web"] } }"#,
            "/task/0/condition/schedule/cron",
            json!("*/4 * * * * * *"),
        ),
        (
            r#"driver "terraform" { required_providers {
                 null = { source = "hashicorp/null" },
                 local = { source = "hashicorp/local" } } }"#,
            "/driver/terraform/required_providers/local/source",
            json!("hashicorp/local"),
        ),
        (
            r#"terraform_provider "null" { alias = "fw1" }
               task { name = "edge-lb" source = "./m" services = ["web"] providers = ["null.fw1"] }"#,
            "/task/0/providers/0",
            json!("null.fw1"),
        ),
        (
            r#"task { name = "one" source = "./tenant" services = ["web"] variable_files = ["one.tfvars"] }
               task { name = "two" source = "./tenant" services = ["web"] variable_files = ["nia/input.tf"] }"#,
            "/task/0/module",
            json!("./tenant"),
        ),
        (
            r#"task { name = "t" module = "./tenant" condition "services" { names = ["web"] } variable_files = "one.tfvars" }"#,
            "/task/0/name",
            json!("t"),
        ),
        (
            r#"/* terraform_provider "zpa" { a = "{{ with secret \"k/z\" }}{{ . }}{{ end }}" } */
               vault {}
               terraform_provider "null" {}
               task { name = "t" module = "./x/../m/" providers = ["null"] variable_files = ["comments.tfvars"]
                      condition "services" { regexp = ".*" } }"#,
            "/task/0/module",
            json!("./x/../m/"),
        ),
        (
            r#"terraform_provider "azurerm" { features { key_vault { purge = true } } }"#,
            "/terraform_provider/0/azurerm/features",
            json!("(hidden)"),
        ),
        (
            r#"terraform_provider "thunder" { address = "" partition = "" }"#,
            "/terraform_provider/0/thunder/partition",
            json!("(hidden)"),
        ),
        (
            r#"task { name = "t" module = "./m" condition "services" { names = ["web"]
                 filter = "\"env=prod\" in Service.Tags and \"a b&c=d\" in Service.Tags" } }"#,
            "/task/0/condition/services/filter",
            json!("\"env=prod\" in Service.Tags and \"a b&c=d\" in Service.Tags"),
        ),
        (
            r#"task { name = "t" module = "./m" condition "consul-kv" { path = "quote/a\"b" } }"#,
            "/task/0/condition/consul-kv/path",
            json!("quote/a\"b"),
        ),
        (
            r#"task { name = "t" module = "./m" condition "consul-kv" { path = "pct/%2Fv9%2F" recurse = true } }"#,
            "/task/0/condition/consul-kv/path",
            json!("pct/%2Fv9%2F"),
        ),
        (
            r#"task { name = "t" module = "./m" condition "consul-kv" { path = "grö/ße" } }"#,
            "/task/0/condition/consul-kv/path",
            json!("grö/ße"),
        ),
        (
            r#"consul { address = "http://127.0.0.1:8500/" }"#,
            "/driver/terraform/backend/consul/address",
            json!("http://127.0.0.1:8500"),
        ),
        (
            r#"driver "terraform" { backend "consul" { scheme = "https" } }"#,
            "/driver/terraform/backend/consul/scheme",
            json!("https"),
        ),
        (
            r#"task { name = "t" module = "./m" condition "catalog-services" { regexp = "web" use_as_module_input = false }
                 module_input "services" { names = ["web"] } }"#,
            "/task/0/condition/catalog-services/use_as_module_input",
            json!(false),
        ),
    ];
    for (text, place, expected) in cases {
        let dumped = loaded(text);
        assert_eq!(dumped.pointer(place), Some(&expected), "{text}\n{dumped:#}");
    }
}

#[test]
fn a_text_that_looks_like_a_list_is_warned_about_at_its_line() {
    for (text, line) in [
        (
            "task {\n  name = \"t\"\n  module = \"./m\"\n  services = \"[nginx-1, nginx-2]\"\n}",
            4,
        ),
        (
            "task {\n  name = \"t\"\n  module = \"./m\"\n  condition \"services\" {\n    names = \"[nginx-1, nginx-2]\"\n  }\n}",
            5,
        ),
    ] {
        let sandbox = sandbox();
        sandbox.write("a.hcl", text);
        let warnings = sandbox.load(&["a.hcl"]).unwrap().warnings;
        let mut about = warnings.problems().iter().filter(|problem| {
            let list = "looks like a list: write `[\"nginx-1\", \"nginx-2\"]`";
            problem.message().contains(list)
        });
        let lines = (
            about.next().map(crate::Problem::line),
            about.next().is_some(),
        );
        assert_eq!(
            lines,
            (Some(Some(line)), false),
            "{text}\n{}",
            warnings.render()
        );
    }
}

#[test]
fn a_path_of_consul_is_refused_where_states_are_in_it() {
    let consul = "consul {\n  address = \"http://proxy/consul\"\n}\n";
    assert_problem(
        &format!("{consul}{}", task_with("")),
        1,
        "Terraform takes the path of an address for a part of its host",
    );
    loaded(&format!("{consul}services {{ plaintext = true }}"));
    loaded(&format!(
        "{consul}driver \"terraform\" {{ backend \"local\" {{}} }}"
    ));
}
