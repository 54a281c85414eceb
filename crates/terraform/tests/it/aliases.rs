//! Modules with `configuration_aliases`, called as the engine wants it (docs/terraform.md#maintf).

use cts_core::{ModuleInterface, ProviderId};
use serde_json::json;

use crate::fixture::{Sandbox, is_formatted, object};

/// A module whose resources use these providers. The provider is part of Terraform.
fn module(aliases: &[&str], resources: &[&str]) -> String {
    let resources = resources.iter().enumerate().map(|(number, provider)| {
        format!("resource \"terraform_data\" \"r{number}\" {{\n  provider = {provider}\n}}\n")
    });
    let resources: String = resources.collect();
    format!(
        "terraform {{\n  required_providers {{\n    terraform = {{\n      source = \"terraform.io/builtin/terraform\"\n      \
         configuration_aliases = [{}]\n    }}\n  }}\n}}\nvariable \"services\" {{\n  type = any\n}}\n{resources}",
        aliases.join(", ")
    )
}

async fn applied(providers: &[&str], aliases: &[&str], resources: &[&str]) {
    let mut sandbox = Sandbox::new(&module(aliases, resources)).await;
    sandbox.settings.required_providers = object(json!({
        "terraform": { "source": "terraform.io/builtin/terraform" }
    }));
    let ids = |ids: &[&str]| {
        ids.iter()
            .map(|&id| ProviderId::from(id))
            .collect::<Vec<_>>()
    };
    sandbox.definition.providers = ids(providers);
    sandbox.module = ModuleInterface {
        provider_aliases: ids(aliases).into_iter().collect(),
        ..ModuleInterface::default()
    };
    let (attempt, _lines) = sandbox.prepared(Vec::new()).await;
    is_formatted(&sandbox).await;
    let applied = sandbox.terraform.apply(&attempt).await;
    assert!(applied.is_ok(), "{providers:?}: {applied:?}");
    let made = sandbox.state()["resources"].as_array().unwrap().len();
    assert_eq!(made, resources.len(), "{providers:?}");
}

#[tokio::test]
async fn a_module_gets_the_provider_under_its_alias_and_plainly() {
    let north = "terraform.north";
    applied(&[north], &[north], &[north]).await;
    applied(&[north], &[north], &[north, "terraform"]).await;
}

#[tokio::test]
async fn a_module_gets_several_instances_of_a_provider() {
    let (north, south) = ("terraform.north", "terraform.south");
    applied(&[south, north], &[north, south], &[north, south]).await;
    let all = [north, south, "terraform"];
    applied(&all, &[north, south], &all).await;
}
