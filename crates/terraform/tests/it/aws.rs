//! A task with the AWS provider, against an emulator, if the plugin is on the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cts_core::{ProviderBlock, ProviderId};
use cts_testkit::ObjectStore;
use serde_json::json;

use crate::fixture::{Sandbox, instance, is_formatted, object};

/// One bucket for each service.
const MODULE: &str = r#"
terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

variable "services" {
  type = any
}

resource "aws_s3_bucket" "of_service" {
  for_each = toset([for service in var.services : service.name])
  bucket   = "logs-${each.value}"
}
"#;

/// Names the directory with the plugin, as `terraform providers mirror` makes it.
const VARIABLE: &str = "CTS_TEST_AWS_PLUGIN_DIR";

/// The directory that the variable names, or where Terraform itself looks for plugins.
fn mirror() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".terraform.d/plugins"));
    let usual = [
        "/usr/local/share/terraform/plugins",
        "/usr/share/terraform/plugins",
    ];
    let usual = usual.into_iter().map(PathBuf::from);
    let mut all = named.into_iter().chain(home).chain(usual);
    all.find(|directory| {
        directory
            .join("registry.terraform.io/hashicorp/aws")
            .is_dir()
    })
}

/// The files are written and formatted on every machine; without the plugin the rest is skipped, with a
/// message.
#[tokio::test]
async fn each_service_has_a_bucket_where_the_plugin_is_there() {
    let server = ObjectStore::with_bucket("other").await;
    let mut sandbox = Sandbox::new(MODULE).await;
    sandbox.settings.required_providers = object(json!({ "aws": { "source": "hashicorp/aws" } }));
    sandbox.settings.providers = vec![ProviderBlock {
        name: "aws".into(),
        alias: None,
        arguments: object(json!({
            "region": "eu-central-1",
            "access_key": "key-of-edge",
            "secret_key": "secret-of-edge",
            "s3_use_path_style": true,
            "skip_credentials_validation": true,
            "skip_metadata_api_check": true,
            "skip_region_validation": true,
            "skip_requesting_account_id": true,
        })),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    }];
    sandbox.definition.providers = vec![ProviderId::from("aws")];
    let root = sandbox.write(vec![instance("a", "web"), instance("b", "api")]);
    is_formatted(&sandbox).await;
    let Some(mirror) = mirror() else {
        // The test runner hides the output of the usual macros if a test succeeds.
        let said = writeln!(
            io::stderr(),
            "SKIPPED: the run with the AWS provider, whose plugin is not on this machine; {VARIABLE} names a \
             directory that `terraform providers mirror` has made with it"
        );
        said.unwrap();
        return;
    };
    let configuration = sandbox.path().join("mirror.tfrc");
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n"
    );
    fs::write(&configuration, text).unwrap();
    sandbox.extra_environment = vec![
        ("AWS_ENDPOINT_URL_S3".into(), server.address()),
        (
            "TF_CLI_CONFIG_FILE".into(),
            configuration.to_str().unwrap().into(),
        ),
    ];
    let (attempt, _lines) = sandbox.attempt();
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    sandbox.terraform.apply(&attempt).await.unwrap();
    for bucket in ["logs-api", "logs-web"] {
        server.list(bucket).await;
    }
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present, "{}", plan.text);
}
