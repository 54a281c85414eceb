//! `driver "terraform-cloud"` (docs/configuration.md#driver-terraform-cloud).

use secrecy::ExposeSecret;

use super::super::{Sandbox, assert_one, assert_problem, config, only, problems};
use crate::TerraformCloudDriver;

const REQUIRED: &str = "organization = \"o\" token = \"t\"";

fn driver(text: &str) -> String {
    format!("driver \"terraform-cloud\" {{ {REQUIRED}\n{text} }}")
}

fn cloud(text: &str) -> TerraformCloudDriver {
    config(&driver(text)).terraform_cloud.unwrap()
}

#[test]
fn prefixes_and_tags_that_no_server_takes_are_refused() {
    for (text, part) in [
        ("workspaces { prefix = \"net/\" }", "\"net/\" in `driver"),
        (
            "workspace_prefix = \"my net\"",
            "`workspace_prefix` is no beginning",
        ),
        (
            "workspaces { tags = [\"ok\",\n\"team network\"] }",
            "`:`, `-` and `_`",
        ),
        ("workspaces { tags = [\"\"] }", "\"\" in `driver"),
        (
            "workspaces { tags_allowlist = [\"caf\u{e9}\"] }",
            "tags_allowlist` is no tag",
        ),
        (
            "workspaces { tags_denylist = [\"a,b\"] }",
            "tags_denylist` is no tag",
        ),
    ] {
        let found = problems(&driver(text));
        assert!(
            found.iter().any(|(_, message)| message.contains(part)),
            "{text}: {found:?}"
        );
    }
    let long = format!("workspaces {{ tags = [\"{}\"] }}", "a".repeat(256));
    assert!(problems(&driver(&long))[0].1.contains("1 to 255"));
}

#[test]
fn a_hostname_is_a_server_alone() {
    for (hostname, message) in [
        ("http://tfe.example", "`hostname` begins with http://"),
        ("https://tfe.example/app/acme", "must be a server alone"),
        ("https://tfe.example/api/v2", "must be a server alone"),
        ("user@tfe.example", "must be a server alone"),
        ("ftp://tfe.example", "must be a server alone"),
        ("https://", "must be a server alone"),
    ] {
        assert_problem(&driver(&format!("hostname = {hostname:?}")), 2, message);
    }
    let mut sandbox = Sandbox::new();
    sandbox.set("TFC_HOSTNAME", "http://tfe.example");
    let report = sandbox.refused(&driver("hostname = \"tfe.example\""));
    let problem = only(&report);
    assert_eq!(problem.line(), None);
    assert!(
        problem
            .message()
            .contains("TFC_HOSTNAME begins with http://"),
        "{problem}"
    );
}

#[test]
fn an_organization_is_required_and_a_token_is_not() {
    let found = problems("driver \"terraform-cloud\" { organization = \"\" }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .1
            .contains("needs `organization`, or the environment variable TFC_ORGANIZATION")
    );
    let mut sandbox = Sandbox::new();
    sandbox.set("TFC_TOKEN", "t");
    sandbox.set("TFC_ORGANIZATION", "o");
    let config = sandbox.config("driver \"terraform-cloud\" { }");
    let cloud = config.terraform_cloud.unwrap();
    assert_eq!(cloud.token.unwrap().expose_secret(), "t");
    assert_problem(
        "driver \"terraform-cloud\" { organization = \"o\"\n token = [1, 2] }",
        2,
        "`driver.terraform-cloud.token` must be text",
    );
}

#[test]
fn the_former_prefix_has_its_hyphen_added() {
    let sandbox = Sandbox::new();
    let prefix = |text: &str| cloud(text).workspaces.prefix;
    assert_eq!(prefix("workspace_prefix = \"old\""), "old-");
    assert_eq!(prefix("workspace_prefix = \"\""), "");
    let both = "workspace_prefix = \"old\" workspaces { prefix = \"new\" }";
    assert_eq!(prefix(both), "new");
    for (text, ignored) in [("workspace_prefix = \"old\"", false), (both, true)] {
        let found = sandbox.warnings(&driver(text));
        assert_one(&found, "deprecated, use `prefix` in a `workspaces` block");
        assert_eq!(
            found[0].contains("it is ignored here"),
            ignored,
            "{found:?}"
        );
    }
}

#[test]
fn refuses_a_second_driver() {
    let one_block =
        "driver {\n terraform { }\n \"terraform-cloud\" { organization = \"o\" token = \"t\" } }";
    assert_problem(one_block, 3, "only one driver can be configured");
    let sandbox = Sandbox::new();
    sandbox.write("1.hcl", "driver \"terraform\" { log = true }");
    sandbox.write("2.hcl", driver(""));
    let report = sandbox.refused_files(&["1.hcl", "2.hcl"]);
    let problem = only(&report);
    assert_eq!((problem.file(), problem.line()), (Some("2.hcl"), Some(1)));
}

#[test]
fn unknown_keys_are_refused() {
    assert_problem(&driver("hostnam = \"x\""), 2, "unknown key `hostnam`");
    assert_problem(
        &driver("workspaces {\n tag = \"x\" }"),
        3,
        "unknown key `tag` in `driver.terraform-cloud.workspaces`",
    );
}

#[test]
fn driver_token_may_be_a_secret_of_vault() {
    let text = "driver \"terraform-cloud\" { organization = \"o\"\n\
                token = \"{{ with secret \\\"kv/x\\\" }}{{ .Data.t }}{{ end }}\" }";
    assert_problem(text, 2, "Vault is not configured");
    let cloud = config(&format!("{text}\nvault {{ enabled = true }}"));
    let token = cloud.terraform_cloud.unwrap().token.unwrap();
    assert!(token.expose_secret().starts_with("{{ with secret"));
    assert_problem(
        &driver("hostname = \"{{ env \\\"X\\\" }}\""),
        2,
        "only allowed in the values of `terraform_provider`",
    );
}
