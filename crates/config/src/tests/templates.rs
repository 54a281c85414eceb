//! Dynamic templates (docs/configuration.md#dynamic-values).

use super::{Sandbox, assert_one, assert_problem, config, task_with};

const ENV: &str = "\"{{ env \\\"HOME\\\" }}\"";
const SECRET: &str = "\"{{ with secret \\\"kv/x\\\" }}{{ .Data.t }}{{ end }}\"";

#[test]
fn templates_in_provider_blocks_are_kept_as_written() {
    let text = format!(
        "terraform_provider \"p\" {{\n task_env {{ A = {ENV} }}\n a {{ b = [{ENV}, \"c\"] }} }}"
    );
    let provider = &config(&text).providers[0];
    assert_eq!(provider.task_env["A"], "{{ env \"HOME\" }}");
    assert_eq!(provider.arguments["a"]["b"][0], "{{ env \"HOME\" }}");
}

#[test]
fn a_secret_needs_vault() {
    let mut sandbox = Sandbox::new();
    let text = format!("terraform_provider \"p\" {{\n token = {SECRET} }}");
    assert_problem(&text, 2, "Vault is not configured");
    assert_problem(
        &format!("vault {{ address = \"http://v\" enabled = false }}\n{text}"),
        3,
        "Vault is not configured",
    );
    let with_vault = format!("{text}\nvault {{ address = \"http://v\" }}");
    assert!(sandbox.config(&with_vault).vault.is_some());
    sandbox.set("VAULT_ADDR", "http://v");
    assert!(sandbox.config(&text).vault.is_some());
}

#[test]
fn a_template_that_cannot_be_evaluated_is_found_at_its_place() {
    for (rest, reason) in [
        ("{{ if", "the template cannot be read"),
        ("{{ key", "the template cannot be read"),
    ] {
        let text =
            format!("terraform_provider \"p\" {{\n a = \"{{{{ env \\\"HOME\\\" }}}}{rest}\" }}");
        assert_problem(&text, 2, reason);
    }
}

#[test]
fn templates_elsewhere_are_refused() {
    for text in [
        format!("working_dir = {ENV}"),
        format!("id = {ENV}"),
        format!("consul {{ token = {ENV} }}"),
        format!("consul {{ auth {{ password = {ENV} }} }}"),
        format!("consul {{ kv_path = {ENV} }}"),
        format!("vault {{ token = {ENV} }}"),
        format!("vault {{ vault_agent_token_file = {ENV} }}"),
        format!("driver \"terraform\" {{ backend \"s3\" {{ bucket = {ENV} }} }}"),
        format!("driver \"terraform\" {{ required_providers {{ a = {ENV} }} }}"),
        format!("Consul = {{ Token = {ENV} }}"),
        format!("terraform_provider {ENV} {{ a = 1 }}"),
    ] {
        assert_problem(
            &text,
            1,
            "only allowed in the values of `terraform_provider` blocks, in `url` and `secret` of `webhook` blocks, \
             and in `token` of `driver \"terraform-cloud\"`",
        );
    }
    for text in [
        format!("description = {ENV}"),
        format!("working_dir = {ENV}"),
    ] {
        assert_problem(&task_with(&text), 5, "only allowed in the values");
    }
}

#[test]
fn a_secret_elsewhere_is_reported_once() {
    assert_problem(
        &format!("consul {{ token = {SECRET} }}"),
        1,
        "only allowed in the values",
    );
}

#[test]
fn variables_of_a_module_are_text() {
    let text = task_with("variables { a = \"\\\"{{ env \\\\\\\"X\\\\\\\" }}\\\"\" }");
    let config = config(&text);
    let value = &config.tasks[0].definition.variables["a"];
    assert_eq!(value.as_str(), Some("{{ env \"X\" }}"));
}

#[test]
fn passes_on_unknown_templates_with_a_warning() {
    let text = "terraform_provider \"p\" { a = \"{{ keyOrDefault \\\"a\\\" \\\"b\\\" }}\" }";
    let sandbox = Sandbox::new();
    let found = sandbox.warnings(text);
    assert_one(&found, "passed on as it is");
    assert_eq!(
        config(text).providers[0].arguments["a"],
        "{{ keyOrDefault \"a\" \"b\" }}"
    );
    assert!(sandbox.warnings("id = \"{{ secret }}\"").is_empty());
}
