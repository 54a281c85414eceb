use std::collections::BTreeMap;

use cts_core::{Condition, Labels, ServiceInstance};
use serde_json::{Value, json};

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance, kept_services};

/// Texts that would be code, or would break the file, if they were written as they are. All are in
/// Unicode normalisation form C, which is the only one that Terraform keeps.
fn hostile_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "\"",
        "\\",
        "\\\"",
        "\n",
        "\r\n",
        "\t",
        "${x}",
        "%{x}",
        "$${x}",
        "%%{x}",
        "$$${x}",
        "$$$${x}",
        "%%%{x}",
        "$%{x}",
        "%${x}",
        "$",
        "%",
        "$$",
        "x$",
        "x%",
        "${",
        "%{",
        "{",
        "}",
        "${~x~}",
        "%{ if true }a%{ endif }",
        "\\${x}",
        "$\\{x}",
        "${file(\"main.tf\")}",
        "\"}\nx = {",
        "<<EOF\nx\nEOF\n",
        "# x",
        "/* x */",
        "é",
        "日本",
        "😀",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "\u{202e}abc",
        "\u{feff}",
        "\u{2028}\u{2029}",
        "\u{0}",
        "\u{1}\u{7f}\u{85}",
        "\u{10ffff}",
        "\\u0041",
        "\u{301}",
        "\u{e000}",
        "",
        " ",
        "null",
        "true",
        "for",
        "1e5",
        "{{ key \"x\" }}",
    ]
    .map(str::to_owned)
    .into();
    for one in ["$", "$$", "%", "%%", "\\", "\"", "{", "${"] {
        for other in ["{", "${", "%{", "\"", "\\", "x}"] {
            texts.push(format!("{one}{other}"));
        }
    }
    texts
}

#[tokio::test]
async fn hostile_texts_arrive_unchanged() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let texts = hostile_texts();
    let large = "${\"\\\n\u{0}é".repeat(9 * 1024);
    assert!(large.len() > 64 * 1024);
    let mut instances: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut instance = instance(&format!("{text}-{index}"), text);
            instance.meta = Labels::from_iter([(text.clone(), text.clone())]);
            instance
        })
        .collect();
    instances.push(ServiceInstance {
        name: large,
        ..instance("large", "x")
    });
    let Condition::Services(condition) = &mut sandbox.definition.condition else {
        panic!("the fixture has a condition on services");
    };
    condition.query.cts_user_defined_meta = texts
        .iter()
        .map(|text| (text.clone(), text.clone()))
        .collect();
    let meta = condition.query.cts_user_defined_meta.clone();

    let (attempt, _lines) = sandbox.prepared(instances.clone()).await;
    sandbox.terraform.apply(&attempt).await.unwrap();

    let kept = kept_services(&sandbox.state());
    assert_eq!(kept.as_object().unwrap().len(), instances.len());
    for instance in &instances {
        assert_eq!(
            kept[&instance.module_key()],
            as_module_sees(instance, &meta)
        );
    }
}

fn as_module_sees(instance: &ServiceInstance, meta: &BTreeMap<String, String>) -> Value {
    let mut value = serde_json::to_value(instance).unwrap();
    value["cts_user_defined_meta"] = json!(meta);
    value
}

#[tokio::test]
async fn user_variables_arrive_unchanged() {
    let mut sandbox = Sandbox::new(
        r#"
variable "services" {
  type = any
}
variable "given" {
  type = any
}
resource "terraform_data" "kept" {
  input = var.given
}
"#,
    )
    .await;
    let given = json!({
        "text": "${x}", "integer": 3, "large": 9_007_199_254_740_993_i64, "fraction": 0.1, "yes": true,
        "nothing": null, "list": ["a", 1, { "b": [] }], "map": { "not an identifier": "%{x}" },
    });
    sandbox.definition.variables = BTreeMap::from([("given".to_owned(), given.clone())]);
    let (attempt, _lines) = sandbox.prepared(Vec::new()).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    assert_eq!(kept_services(&sandbox.state()), given);
}
