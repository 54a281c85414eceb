//! Every variable of docs/configuration.md#environment that the configuration looks at.

use secrecy::ExposeSecret;

use super::Sandbox;
use crate::Config;

/// Keeps Vault and the other driver in the model.
const BLOCKS: &str = "vault { enabled = true }\n\
                      driver \"terraform-cloud\" { organization = \"file\" token = \"file\" }\n";

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

/// A variable, a value for it, what it supplies as text, and the same written in a file if there is such a
/// key.
struct Case {
    variable: &'static str,
    value: &'static str,
    read: fn(&Config) -> String,
    file: Option<&'static str>,
}

fn case(
    variable: &'static str,
    value: &'static str,
    read: fn(&Config) -> String,
    file: Option<&'static str>,
) -> Case {
    Case {
        variable,
        value,
        read,
        file,
    }
}

fn cases() -> Vec<Case> {
    let consul_token = |c: &Config| text(c.consul.token.as_ref().map(ExposeSecret::expose_secret));
    let vault_token = |c: &Config| {
        let token = c.vault.as_ref().unwrap().token.as_ref();
        text(token.map(ExposeSecret::expose_secret))
    };
    vec![
        case(
            "CONSUL_HTTP_ADDR",
            "env:1",
            |c| c.consul.address.clone(),
            Some("consul { address = \"file\" }"),
        ),
        case(
            "CONSUL_TOKEN",
            "one",
            consul_token,
            Some("consul { token = \"file\" }"),
        ),
        case(
            "CONSUL_HTTP_TOKEN",
            "two",
            consul_token,
            Some("consul { token = \"file\" }"),
        ),
        case(
            "CONSUL_CACERT",
            "ca.pem",
            |c| c.consul.tls.ca_cert.clone(),
            Some("consul { tls { ca_cert = \"file\" } }"),
        ),
        case(
            "CONSUL_CAPATH",
            "cas",
            |c| c.consul.tls.ca_path.clone(),
            Some("consul { tls { ca_path = \"file\" } }"),
        ),
        case(
            "CONSUL_CLIENT_CERT",
            "cert.pem",
            |c| c.consul.tls.cert.clone(),
            Some("consul { tls { cert = \"file\" } }"),
        ),
        case(
            "CONSUL_CLIENT_KEY",
            "key.pem",
            |c| c.consul.tls.key.clone(),
            Some("consul { tls { key = \"file\" } }"),
        ),
        case(
            "CONSUL_TLS_SERVER_NAME",
            "name",
            |c| c.consul.tls.server_name.clone(),
            Some("consul { tls { server_name = \"file\" } }"),
        ),
        case(
            "CONSUL_HTTP_AUTH",
            "user",
            |c| text(c.consul.auth.as_ref().map(|auth| auth.username.as_str())),
            Some("consul { auth { username = \"file\" } }"),
        ),
        case(
            "CONSUL_NAMESPACE",
            "ns",
            |c| text(c.consul.namespace.as_deref()),
            None,
        ),
        case(
            "CONSUL_PARTITION",
            "part",
            |c| text(c.consul.partition.as_deref()),
            None,
        ),
        case(
            "VAULT_ADDR",
            "http://env:1",
            |c| c.vault.as_ref().unwrap().address.clone(),
            Some("vault { address = \"file\" }"),
        ),
        case(
            "VAULT_NAMESPACE",
            "ns",
            |c| c.vault.as_ref().unwrap().namespace.clone(),
            Some("vault { namespace = \"file\" enabled = true }"),
        ),
        case(
            "VAULT_TOKEN",
            "s.env",
            vault_token,
            Some("vault { token = \"file\" enabled = true }"),
        ),
        case(
            "VAULT_CACERT",
            "ca.pem",
            |c| c.vault.as_ref().unwrap().tls.ca_cert.clone(),
            Some("vault { tls { ca_cert = \"file\" } enabled = true }"),
        ),
        case(
            "VAULT_CAPATH",
            "cas",
            |c| c.vault.as_ref().unwrap().tls.ca_path.clone(),
            Some("vault { tls { ca_path = \"file\" } enabled = true }"),
        ),
        case(
            "VAULT_CLIENT_CERT",
            "cert.pem",
            |c| c.vault.as_ref().unwrap().tls.cert.clone(),
            Some("vault { tls { cert = \"file\" } enabled = true }"),
        ),
        case(
            "VAULT_CLIENT_KEY",
            "key.pem",
            |c| c.vault.as_ref().unwrap().tls.key.clone(),
            Some("vault { tls { key = \"file\" } enabled = true }"),
        ),
        case(
            "VAULT_TLS_SERVER_NAME",
            "name",
            |c| c.vault.as_ref().unwrap().tls.server_name.clone(),
            Some("vault { tls { server_name = \"file\" } enabled = true }"),
        ),
    ]
}

#[test]
fn a_variable_supplies_what_the_files_leave_open() {
    for case in cases() {
        let Case {
            variable,
            value,
            read,
            ..
        } = case;
        let mut sandbox = Sandbox::new();
        let before = read(&sandbox.config(BLOCKS));
        assert_ne!(before, value, "{variable}");
        sandbox.set(variable, &format!(" \t{value}\n"));
        assert_eq!(read(&sandbox.config(BLOCKS)), value, "{variable}");
        sandbox.set(variable, " \t");
        assert_eq!(read(&sandbox.config(BLOCKS)), before, "{variable} blank");
    }
}

#[test]
fn a_file_beats_a_variable() {
    for case in cases() {
        let Some(file) = case.file else { continue };
        let mut sandbox = Sandbox::new();
        sandbox.set(case.variable, case.value);
        let read = (case.read)(&sandbox.config(file));
        assert_eq!(read, "file", "{}", case.variable);
    }
}

#[test]
fn an_empty_value_in_a_file_counts_too() {
    for case in cases() {
        // A separate test covers empty addresses.
        let Some(file) = case.file.filter(|_| !case.variable.ends_with("_ADDR")) else {
            continue;
        };
        // An empty user name leaves authentication off, so the variable counts.
        let expected = if case.variable == "CONSUL_HTTP_AUTH" {
            "user"
        } else {
            ""
        };
        let mut sandbox = Sandbox::new();
        sandbox.set(case.variable, case.value);
        let config = sandbox.config(&file.replace("\"file\"", "\"\""));
        assert_eq!((case.read)(&config), expected, "{}", case.variable);
    }
}

#[test]
fn an_empty_address_of_consul_falls_through() {
    let mut sandbox = Sandbox::new();
    let address = |sandbox: &Sandbox, text: &str| sandbox.config(text).consul.address;
    let empty = "consul { address = \"\" }";
    assert_eq!(address(&sandbox, "port = 1"), "localhost:8500");
    assert_eq!(address(&sandbox, empty), "127.0.0.1:8500");
    sandbox.set("CONSUL_HTTP_ADDR", "env:1");
    assert_eq!(address(&sandbox, empty), "env:1");
}

#[test]
fn the_first_variable_with_a_token_wins() {
    let mut sandbox = Sandbox::new();
    sandbox.set("CONSUL_HTTP_TOKEN", "second");
    sandbox.set("CONSUL_TOKEN", "first");
    let token = sandbox.config("port = 1").consul.token.unwrap();
    assert_eq!(token.expose_secret(), "first");
}

#[test]
fn a_token_file_beats_the_configured_token() {
    let mut sandbox = Sandbox::new();
    sandbox.write("token", " from-file\n");
    sandbox.set("CONSUL_HTTP_TOKEN_FILE", "token");
    let consul = sandbox.config("consul { token = \"x\" }").consul;
    assert_eq!(consul.token.unwrap().expose_secret(), "from-file");

    sandbox.set("CONSUL_HTTP_TOKEN_FILE", "absent");
    let report = sandbox.refused("port = 1");
    let message = report.problems()[0].message();
    assert!(
        message.contains("absent, which CONSUL_HTTP_TOKEN_FILE names"),
        "{message}"
    );
}

#[test]
fn no_variable_of_consul_switches_tls_on() {
    let mut sandbox = Sandbox::new();
    for name in [
        "CONSUL_CACERT",
        "CONSUL_CAPATH",
        "CONSUL_CLIENT_CERT",
        "CONSUL_CLIENT_KEY",
        "CONSUL_TLS_SERVER_NAME",
        "CONSUL_HTTP_SSL_VERIFY",
    ] {
        sandbox.set(name, "1");
    }
    let consul = sandbox.config("port = 1").consul;
    assert!(!consul.tls.enabled && !consul.https && consul.tls.verify);
    // Switched on by the file, they count.
    let consul = sandbox.config("consul { tls { enabled = true } }").consul;
    assert_eq!(consul.tls.ca_cert, "1");
}

#[test]
fn a_variable_gives_the_password_as_well() {
    let mut sandbox = Sandbox::new();
    sandbox.set("CONSUL_HTTP_AUTH", "user:pa:ss");
    let auth = sandbox.config("port = 1").consul.auth.unwrap();
    assert_eq!(auth.username, "user");
    assert_eq!(auth.password.expose_secret(), "pa:ss");
    let off = "consul { auth { enabled = false username = \"u\" } }";
    let auth = sandbox.config(off).consul.auth.unwrap();
    assert_eq!(auth.username, "user");
}

#[test]
fn switches_are_read_as_switches() {
    type Switch = (&'static str, fn(&Config) -> bool, bool, bool);
    let https = |c: &Config| c.consul.https;
    let renew = |c: &Config| c.vault.as_ref().unwrap().renew_token;
    let unwrap = |c: &Config| c.vault.as_ref().unwrap().unwrap_token;
    let verify = |c: &Config| c.vault.as_ref().unwrap().tls.verify;
    let cases: [Switch; 4] = [
        ("CONSUL_HTTP_SSL", https, true, false),
        ("VAULT_RENEW_TOKEN", renew, true, false),
        ("VAULT_UNWRAP_TOKEN", unwrap, true, false),
        ("VAULT_SKIP_VERIFY", verify, false, true),
    ];
    for (variable, read, if_true, default) in cases {
        let mut sandbox = Sandbox::new();
        assert_eq!(read(&sandbox.config(BLOCKS)), default, "{variable}");
        for yes in ["1", "t", "TRUE", " true "] {
            sandbox.set(variable, yes);
            assert_eq!(read(&sandbox.config(BLOCKS)), if_true, "{variable} {yes}");
        }
        for no in ["0", "F", "False"] {
            sandbox.set(variable, no);
            assert_eq!(read(&sandbox.config(BLOCKS)), !if_true, "{variable} {no}");
        }
        sandbox.set(variable, "maybe");
        assert_eq!(read(&sandbox.config(BLOCKS)), default, "{variable}");
        let warnings = sandbox.warnings(BLOCKS);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let expected = format!("environment variable {variable} is ignored");
        assert!(warnings[0].starts_with(&expected), "{warnings:?}");
    }
}

#[test]
fn a_switch_in_a_file_beats_its_variable() {
    let mut sandbox = Sandbox::new();
    for variable in [
        "VAULT_RENEW_TOKEN",
        "VAULT_UNWRAP_TOKEN",
        "VAULT_SKIP_VERIFY",
    ] {
        sandbox.set(variable, "true");
    }
    let text =
        "vault { enabled = true renew_token = false unwrap_token = false tls { verify = true } }";
    let vault = sandbox.config(text).vault.unwrap();
    assert!(!vault.renew_token && !vault.unwrap_token && vault.tls.verify);
}

#[test]
fn variables_of_the_platform_beat_the_file() {
    let mut sandbox = Sandbox::new();
    let cloud = sandbox.config(BLOCKS).terraform_cloud.unwrap();
    assert_eq!(cloud.hostname, "https://app.terraform.io");
    for (name, value) in [
        ("TFC_HOSTNAME", "https://tfe.example"),
        ("TFC_ORGANIZATION", "org"),
        ("TFC_TOKEN", "secret"),
    ] {
        sandbox.set(name, value);
    }
    let cloud = sandbox.config(BLOCKS).terraform_cloud.unwrap();
    assert_eq!(cloud.hostname, "https://tfe.example");
    assert_eq!(cloud.organization, "org");
    assert_eq!(cloud.token.unwrap().expose_secret(), "secret");
}
