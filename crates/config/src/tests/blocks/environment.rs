//! Every variable of docs/configuration.md#environment that the configuration looks at.

use secrecy::{ExposeSecret, SecretString};

use super::super::Sandbox;
use crate::{Config, dump_json};

/// Keeps Vault and the other driver in the model.
const BLOCKS: &str = "vault { enabled = true }\n\
                      driver \"terraform-cloud\" { organization = \"file\" token = \"file\" }\n";

/// A variable, a value for it, and the key that it supplies.
const SUPPLIED: [(&str, &str, &str); 17] = [
    ("CONSUL_HTTP_ADDR", "env:1", "consul.address"),
    ("CONSUL_TOKEN", "one", "consul.token"),
    ("CONSUL_HTTP_TOKEN", "two", "consul.token"),
    ("CONSUL_CACERT", "ca.pem", "consul.tls.ca_cert"),
    ("CONSUL_CAPATH", "cas", "consul.tls.ca_path"),
    ("CONSUL_CLIENT_CERT", "cert.pem", "consul.tls.cert"),
    ("CONSUL_CLIENT_KEY", "key.pem", "consul.tls.key"),
    ("CONSUL_TLS_SERVER_NAME", "name", "consul.tls.server_name"),
    ("CONSUL_HTTP_AUTH", "user", "consul.auth.username"),
    ("VAULT_ADDR", "http://env:1", "vault.address"),
    ("VAULT_NAMESPACE", "ns", "vault.namespace"),
    ("VAULT_TOKEN", "s.env", "vault.token"),
    ("VAULT_CACERT", "ca.pem", "vault.tls.ca_cert"),
    ("VAULT_CAPATH", "cas", "vault.tls.ca_path"),
    ("VAULT_CLIENT_CERT", "cert.pem", "vault.tls.cert"),
    ("VAULT_CLIENT_KEY", "key.pem", "vault.tls.key"),
    ("VAULT_TLS_SERVER_NAME", "name", "vault.tls.server_name"),
];

/// Settings that no key sets.
const WITHOUT_KEY: [(&str, &str, &str); 2] = [
    ("CONSUL_NAMESPACE", "ns", "consul namespace"),
    ("CONSUL_PARTITION", "part", "consul partition"),
];

/// The setting of a key; empty if it is unset.
fn read(config: &Config, key: &str) -> String {
    let token = |token: &Option<SecretString>| Some(token.as_ref()?.expose_secret().to_owned());
    let setting = match key {
        "consul.token" => token(&config.consul.token),
        "vault.token" => token(&config.vault.as_ref().unwrap().token),
        "consul namespace" => config.consul.namespace.clone(),
        "consul partition" => config.consul.partition.clone(),
        _ => {
            let dumped = dump_json(config);
            let value = dumped.pointer(&format!("/{}", key.replace('.', "/")));
            value.map(|value| value.as_str().unwrap().to_owned())
        }
    };
    setting.unwrap_or_default()
}

/// A file with the key.
fn file(key: &str, value: &str) -> String {
    let mut names = key.rsplit('.');
    let assigned = format!("{} = {value:?}", names.next().unwrap());
    let written = names.fold(assigned, |inner, name| format!("{name} {{ {inner} }}"));
    written.replace("vault {", "vault { enabled = true")
}

#[test]
fn a_variable_supplies_what_the_files_leave_open() {
    for (variable, value, key) in SUPPLIED.into_iter().chain(WITHOUT_KEY) {
        let mut sandbox = Sandbox::new();
        let before = read(&sandbox.config(BLOCKS), key);
        assert_ne!(before, value, "{variable}");
        sandbox.set(variable, &format!(" \t{value}\n"));
        assert_eq!(read(&sandbox.config(BLOCKS), key), value, "{variable}");
        sandbox.set(variable, " \t");
        assert_eq!(
            read(&sandbox.config(BLOCKS), key),
            before,
            "{variable} blank"
        );
    }
}

#[test]
fn a_file_beats_a_variable() {
    for (variable, value, key) in SUPPLIED {
        let mut sandbox = Sandbox::new();
        sandbox.set(variable, value);
        let config = sandbox.config(&file(key, "file"));
        assert_eq!(read(&config, key), "file", "{variable}");
    }
}

#[test]
fn an_empty_value_in_a_file_counts_too() {
    for (variable, value, key) in SUPPLIED {
        let expected = match key {
            // A separate test covers empty addresses.
            "consul.address" | "vault.address" => continue,
            // An empty user name leaves authentication off, so the variable counts.
            "consul.auth.username" => "user",
            _ => "",
        };
        let mut sandbox = Sandbox::new();
        sandbox.set(variable, value);
        let config = sandbox.config(&file(key, ""));
        assert_eq!(read(&config, key), expected, "{variable}");
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
