//! `vault` (docs/configuration.md#vault).

use secrecy::ExposeSecret;

use super::super::{Sandbox, assert_one, assert_problems, problems};
use crate::VaultConfig;

fn token(vault: &VaultConfig) -> Option<&str> {
    Some(vault.token.as_ref()?.expose_secret())
}

#[test]
fn vault_is_on_if_the_environment_has_its_address() {
    let mut sandbox = Sandbox::new();
    let address = |sandbox: &Sandbox, text: &str| Some(sandbox.config(text).vault?.address);
    assert_eq!(address(&sandbox, "port = 1"), None);
    sandbox.set("VAULT_ADDR", "http://env:1");
    for (text, expected) in [
        ("port = 1", Some("http://env:1")),
        ("vault { address = \"\" }", None),
        ("vault { enabled = false }", None),
    ] {
        assert_eq!(address(&sandbox, text).as_deref(), expected, "{text}");
    }
}

#[test]
fn the_token_is_looked_for_in_the_order_of_the_places() {
    let mut sandbox = Sandbox::new();
    let vault = |sandbox: &Sandbox, text: &str| {
        let text = format!("vault {{ enabled = true {text} }}");
        sandbox.config(&text).vault.unwrap()
    };
    assert_eq!(token(&vault(&sandbox, "")), None);
    let home = sandbox.path().join("home");
    sandbox.set("HOME", home.to_str().unwrap());
    assert_eq!(token(&vault(&sandbox, "")), None);
    sandbox.write("home/.vault-token", "at-home\n");
    assert_eq!(token(&vault(&sandbox, "")), Some("at-home"));
    sandbox.set("VAULT_TOKEN", "env");
    assert_eq!(token(&vault(&sandbox, "")), Some("env"));
    assert_eq!(token(&vault(&sandbox, "token = \"file\"")), Some("file"));
    assert_eq!(token(&vault(&sandbox, "token = \"\"")), None);
    sandbox.write("agent", " of-agent \n");
    let by_agent = vault(
        &sandbox,
        "token = \"file\" vault_agent_token_file = \"agent\"",
    );
    assert_eq!(token(&by_agent), Some("of-agent"));
    assert_eq!(
        by_agent.vault_agent_token_file,
        Some(sandbox.path().join("agent"))
    );
}

#[test]
fn a_token_is_renewed_unless_it_comes_from_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.write("agent", "of-agent");
    for (text, renewed) in [
        ("token = \"x\"", true),
        ("token = \"\"", false),
        ("vault_agent_token_file = \"agent\"", false),
        (
            "vault_agent_token_file = \"agent\" renew_token = true",
            true,
        ),
        ("token = \"x\" renew_token = false", false),
    ] {
        let text = format!("vault {{ enabled = true {text} }}");
        let vault = sandbox.config(&text).vault.unwrap();
        assert_eq!(vault.renew_token, renewed, "{text}");
    }
}

#[test]
fn a_token_file_without_a_token_is_warned_of() {
    let mut sandbox = Sandbox::new();
    sandbox.write("empty", " \n");
    sandbox.set("VAULT_TOKEN", "env");
    for (file, reason) in [
        ("", "`vault_agent_token_file` is empty"),
        ("empty", "empty is empty"),
        ("absent", "cannot read"),
    ] {
        let text = |enabled: bool| {
            format!("vault {{ enabled = {enabled} vault_agent_token_file = \"{file}\" }}")
        };
        let found = sandbox.warnings(&text(true));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("Vault is used without a token: "),
            "{found:?}"
        );
        assert!(found[0].contains(reason), "{found:?}");
        assert_eq!(token(&sandbox.config(&text(true)).vault.unwrap()), None);
        assert!(sandbox.warnings(&text(false)).is_empty());
    }
}

#[test]
fn a_token_at_home_that_cannot_be_read_is_warned_of() {
    let mut sandbox = Sandbox::new();
    sandbox.write("home/.vault-token/x", "");
    let home = sandbox.path().join("home");
    sandbox.set("HOME", home.to_str().unwrap());
    let found = sandbox.warnings("vault { enabled = true }");
    assert_one(&found, "cannot read the Vault token in");
    assert!(sandbox.warnings("vault { }").is_empty());
}

#[test]
fn bad_blocks_are_refused() {
    let cases = r#"
        vault {
          adress = "x" } #~ unknown key `adress` in `vault`

        vault { enabled = "on" } #~ `vault.enabled` must be true or false
        vault { tls { verify = "no" } } #~ `vault.tls.verify` must be
        vault { transport { dial_timeout = "-1s" } } #~ `vault.transport.dial_timeout` cannot be negative

        vault { }
        vault { } #~ only one `vault` block
    "#;
    assert_problems(cases);
    let found = problems("vault { token = [\"a\", \"b\"]\n renew_token = { } }");
    assert_eq!(found.len(), 2, "{found:?}");
}
