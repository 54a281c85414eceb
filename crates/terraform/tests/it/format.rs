use std::collections::BTreeMap;

use cts_core::{ProviderBlock, ProviderId};
use serde_json::json;

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance, is_formatted, object};

#[tokio::test]
async fn generated_files_are_formatted_as_terraform_formats() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.definition.description = "two\nlines".into();
    sandbox.definition.version = "1.0.0".into();
    sandbox.definition.providers = vec![ProviderId::from("lbx"), ProviderId::from("dns")];
    sandbox.settings.required_providers =
        object(json!({ "lbx": { "source": "a/lbx", "version": "1.0" } }));
    sandbox.settings.backend.arguments = object(json!({ "path": "x", "workspace_dir": "y" }));
    let nested = json!({
        "host": "h", "retry": { "limit": 3, "pause": "2s" }, "empty": {}, "rate": 0.5, "off": false,
        "list": [1, "two", { "three": 3, "x": {} }, [[]], [{ "deep": [{}] }]],
        "labels": { "not an identifier": null, "${x}": "%{y}", "for": "quoted" },
    });
    sandbox.settings.providers = vec![ProviderBlock {
        name: "lbx".into(),
        alias: None,
        arguments: object(nested.clone()),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    }];
    sandbox.definition.variables = object(nested)
        .into_iter()
        .map(|(name, value)| (format!("user_{name}"), value))
        .collect();
    sandbox.write(vec![
        instance("plain", "x"),
        instance("hostile", "${x}\"\n\0é😀\u{301}"),
    ]);

    is_formatted(&sandbox).await;
}

#[tokio::test]
async fn the_file_of_outputs_is_formatted_and_says_what_is_sensitive() {
    let module = r#"
variable "services" {
  type = any
}

output "address" {
  value = "here"
}

output "to-ken" {
  value     = "hidden"
  sensitive = true
}
"#;
    let mut sandbox = Sandbox::new(module).await;
    sandbox.definition.outputs = vec!["to-ken".into(), "address".into()];
    let (attempt, _lines) = sandbox.prepared(Vec::new()).await;
    is_formatted(&sandbox).await;
    let file = sandbox.directory().path().join("outputs.tf");
    let text = std::fs::read_to_string(file).unwrap();
    let (header, blocks) = text.split_once("\n\n").unwrap();
    assert!(header.starts_with("# Written by cts") && header.ends_with("# Description: a test"));
    let expected = r#"output "to-ken" {
  sensitive = true
  value     = module.edge.to-ken
}

output "address" {
  value = module.edge.address
}
"#;
    assert_eq!(blocks, expected);
    // Another output needs another validation.
    sandbox.definition.outputs = vec!["address".into()];
    let root = sandbox.write(Vec::new());
    let prepared = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_eq!(prepared, cts_terraform::Preparation::Validated);
    let again = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    assert_eq!(again, cts_terraform::Preparation::Reused);
    sandbox.terraform.apply(&attempt).await.unwrap();
}
