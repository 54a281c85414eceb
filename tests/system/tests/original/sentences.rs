//! Sentences of the original about Terraform, Consul and templates, from a process that has begun.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::{ConsulAgent, access_control};
use cts_tests::Site;

use super::site::{blocks, driver, run, site, start};

/// Writes an executable called Terraform into `bin`.
fn write_terraform(site: &Site, script: &str) {
    site.write("bin/terraform", script);
    let path = site.path().join("bin/terraform");
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// An executable called Terraform that does not do, the backend, and the sentence about it.
const TERRAFORMS: [(&str, &str, &str); 7] = [
    (
        "\u{7f}ELF for another machine",
        "local",
        "incompatible Terraform binary",
    ),
    (
        "#!/bin/sh\nexit 1\n",
        "local",
        "incompatible Terraform binary",
    ),
    (
        "#!/bin/sh\necho hello\n",
        "local",
        "incompatible Terraform binary",
    ),
    (
        "#!/bin/sh\necho '{\"terraform_version\": \"0.12.31\"}'\n",
        "local",
        "unsupported Terraform version",
    ),
    (
        "#!/bin/sh\necho Terraform v0.12.31\n",
        "local",
        "unsupported Terraform version",
    ),
    (
        "#!/bin/sh\necho '{\"terraform_version\": \"0.13.7\"}'\n",
        "pg",
        "does not support pg backend in automation",
    ),
    (
        "#!/bin/sh\necho '{\"terraform_version\": \"0.12.31\"}'\n",
        "local",
        "[ERROR] driver.terraform: found Terraform version does not satisfy the version constraint",
    ),
];

#[tokio::test]
async fn a_terraform_that_cannot_be_used() {
    let consul = ConsulAgent::start().await;
    for (script, backend, sentence) in TERRAFORMS {
        let driver = driver("path = \"bin\"").replace("local", backend);
        let site = site(&(blocks(&consul) + &driver));
        write_terraform(&site, script);
        let exit = start(&site, &["-once"]).await;
        exit.assert_code(16).says([sentence]);
        let last = exit.output.lines().rfind(|line| line.contains("[ERROR]"));
        let last = last.unwrap_or_default();
        assert!(
            last.contains("[ERROR] cli: error installing driver: error="),
            "{sentence}: {}",
            exit.output
        );
    }
}

/// A task whose provider has a value that is not available, and the sentence about it.
const VALUES: [(&str, &str); 2] = [
    (
        "{{ key \\\"cts/none\\\" }}",
        "error rendering template for task edge",
    ),
    (
        "{{ key \\\"cts/none@nowhere\\\" }}",
        "error fetching template dependencies for task edge",
    ),
];

#[tokio::test]
async fn a_value_that_is_not_available() {
    let consul = ConsulAgent::start().await;
    for (value, sentence) in VALUES {
        let task = format!(
            "terraform_provider \"fake-sync\" {{ name = \"{value}\" }}\n\
             task {{\n name = \"edge\"\n module = \"./module\"\n providers = [\"fake-sync\"]\n \
             condition \"services\" {{ names = [\"web\"] }}\n}}\n"
        );
        let site = site(&(blocks(&consul) + &driver("") + &task));
        let exit = start(&site, &["-once"]).await;
        exit.assert_code(11).says([
            sentence,
            "[ERROR] tasksmanager: error running task: task_name=edge",
            "could not apply changes for task edge: ",
        ]);
    }
}

/// Only the entry of the program itself may not be written.
const READER: &str =
    "service_prefix \"\" { policy = \"read\" }\nnode_prefix \"\" { policy = \"read\" }\n";

#[tokio::test]
async fn missing_rights_are_told() {
    let consul = ConsulAgent::start_with(access_control()).await;
    let token = "6f1c7a52-0000-4000-8000-000000000001";
    consul.make_token(token, READER).await;
    let mut site = site(&(blocks(&consul) + &driver("")));
    site.set_environment("CONSUL_HTTP_TOKEN", token);
    let process = run(&site, &[]);
    process.until_logged("missing required Consul ACL").await;
    let exit = process.terminate().await;
    exit.assert_code(0).says([
        "[ERROR] registration: error registering Consul-Terraform-Sync as a service with Consul: ",
        "missing required Consul ACL: Unexpected response code: 403",
        "configure CTS with an ACL including `service:write` or disable registration in configuration",
    ]);
}
