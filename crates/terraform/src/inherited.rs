//! The part of the environment of cts that its Terraform processes inherit
//! (docs/terraform.md#the-environment-of-terraform).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// Variables that change what a command does or prints; cts sets these itself.
const CHANGE_COMMANDS: [&str; 11] = [
    "TF_CLI_ARGS",
    "TF_CLI_ARGS_*",
    "TF_DISABLE_PLUGIN_TLS",
    "TF_INPUT",
    "TF_IN_AUTOMATION",
    "TF_LOG",
    "TF_LOG_*",
    "TF_REATTACH_PROVIDERS",
    "TF_SKIP_PROVIDER_VERIFY",
    "TF_VAR_*",
    "TF_WORKSPACE",
];

/// Variables among them by which people set inputs and options of Terraform.
const SET_BY_PEOPLE: [&str; 4] = ["TF_CLI_ARGS", "TF_CLI_ARGS_*", "TF_VAR_*", "TF_WORKSPACE"];

/// Settings of cts, among them the URL of its database, and its credentials for Consul, HCP Terraform and
/// Vault.
const CREDENTIALS: [&str; 7] = [
    "CONSUL_HTTP_AUTH",
    "CONSUL_HTTP_TOKEN",
    "CONSUL_HTTP_TOKEN_FILE",
    "CONSUL_TOKEN",
    "CTS_*",
    "TFC_TOKEN",
    "VAULT_TOKEN",
];

/// The part of the environment of cts that its Terraform processes get. Values may be secret, so `Debug` shows the
/// names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct InheritedEnvironment {
    variables: BTreeMap<OsString, OsString>,
    withheld: Vec<String>,
}

impl InheritedEnvironment {
    /// Everything in `environment` except variables that would change the commands, and the credentials of
    /// cts.
    pub fn of(environment: &BTreeMap<OsString, OsString>) -> Self {
        let mut inherited = Self::default();
        for (name, value) in environment {
            if is_own_credential(name) {
                inherited.withheld.push(name.to_string_lossy().into_owned());
            } else if !is_any_of(name, &CHANGE_COMMANDS) {
                inherited.variables.insert(name.clone(), value.clone());
            }
        }
        inherited
    }

    /// Keeps only the variables in `names`: names, and beginnings of names that end with a `*`.
    #[must_use]
    pub fn only(mut self, names: &[String]) -> Self {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.variables
            .retain(|name, _value| is_any_of(name, &names));
        self
    }

    /// Removes the variables `names`, which are credentials, too.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        for name in names {
            if self.variables.remove(OsStr::new(name)).is_some() {
                self.withheld.push((*name).to_owned());
            }
        }
        self
    }

    /// Adds `defaults` for variables that are not set.
    #[must_use]
    pub fn or(mut self, defaults: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        for (name, value) in defaults {
            let value = || value.into();
            self.variables.entry(name.into()).or_insert_with(value);
        }
        self
    }

    /// Every variable.
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Names of the credentials that are set, and that Terraform does not get.
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }
}

impl fmt::Debug for InheritedEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// Whether a variable sets an input or an option of Terraform; Terraform never gets such a variable.
pub fn is_ignored_setting(name: &OsStr) -> bool {
    is_any_of(name, &SET_BY_PEOPLE)
}

/// Whether a variable is a setting or credential of cts; Terraform never gets such a variable.
pub fn is_own_credential(name: &OsStr) -> bool {
    is_any_of(name, &CREDENTIALS)
}

fn is_any_of(name: &OsStr, patterns: &[&str]) -> bool {
    let name = name.as_encoded_bytes();
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning.as_bytes()),
            None => name == pattern.as_bytes(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inherited: &InheritedEnvironment) -> Vec<&str> {
        let names = inherited.variables().keys();
        names.map(|name| name.to_str().unwrap()).collect()
    }

    fn environment(names: &[&str]) -> BTreeMap<OsString, OsString> {
        names.iter().map(|name| (name.into(), "x".into())).collect()
    }

    #[test]
    fn a_default_counts_where_nothing_is_said() {
        let said = environment(&["GOGC", "HOME"]);
        let all = InheritedEnvironment::of(&said);
        let narrowed = all.clone().only(&["HOME".to_owned()]);
        let gogc = |inherited: InheritedEnvironment| {
            let inherited = inherited.or([("GOGC", "400".to_owned())]);
            inherited.variables()[OsStr::new("GOGC")].clone()
        };
        assert_eq!(gogc(all), "x");
        assert_eq!(gogc(narrowed), "400");
    }

    #[test]
    fn variables_that_change_commands_and_credentials_of_cts_are_withheld() {
        let inherited = InheritedEnvironment::of(&environment(&[
            "AWS_SECRET_ACCESS_KEY",
            "CONSUL_HTTP_ADDR",
            "CONSUL_HTTP_AUTH",
            "CONSUL_HTTP_TOKEN",
            "CTS_DATABASE_URL",
            "HOME",
            "HTTPS_PROXY",
            "PGPASSWORD",
            "SSL_CERT_FILE",
            "TFC_TOKEN",
            "TF_CLI_ARGS_apply",
            "TF_DATA_DIR",
            "TF_LOG",
            "TF_LOG_CORE",
            "TF_TOKEN_example_com",
            "TF_VAR_services",
            "TF_WORKSPACE",
            "VAULT_ADDR",
            "VAULT_TOKEN",
        ]));
        assert_eq!(
            names(&inherited),
            [
                "AWS_SECRET_ACCESS_KEY",
                "CONSUL_HTTP_ADDR",
                "HOME",
                "HTTPS_PROXY",
                "PGPASSWORD",
                "SSL_CERT_FILE",
                "TF_DATA_DIR",
                "TF_TOKEN_example_com",
                "VAULT_ADDR",
            ]
        );
        assert_eq!(
            inherited.withheld(),
            [
                "CONSUL_HTTP_AUTH",
                "CONSUL_HTTP_TOKEN",
                "CTS_DATABASE_URL",
                "TFC_TOKEN",
                "VAULT_TOKEN",
            ]
        );
        let own_database = inherited.without(&["PGPASSWORD", "PGPASSFILE"]);
        assert!(!names(&own_database).contains(&"PGPASSWORD"));
        assert_eq!(own_database.withheld().last().unwrap(), "PGPASSWORD");
    }

    #[test]
    fn inputs_and_options_of_terraform_are_ignored_settings() {
        let said = environment(&[
            "TF_CLI_ARGS",
            "TF_CLI_ARGS_apply",
            "TF_DATA_DIR",
            "TF_IN_AUTOMATION",
            "TF_VAR_region",
            "TF_WORKSPACE",
        ]);
        let ignored = said.keys().filter(|name| is_ignored_setting(name));
        let ignored: Vec<_> = ignored.collect();
        assert_eq!(
            ignored,
            [
                "TF_CLI_ARGS",
                "TF_CLI_ARGS_apply",
                "TF_VAR_region",
                "TF_WORKSPACE"
            ]
        );
        let inherited = InheritedEnvironment::of(&said);
        assert_eq!(names(&inherited), ["TF_DATA_DIR"]);
    }

    #[test]
    fn a_list_narrows_and_adds_nothing() {
        let inherited = InheritedEnvironment::of(&environment(&[
            "AWS_PROFILE",
            "AWS_REGION",
            "HOME",
            "HOME2",
            "PATH",
            "VAULT_TOKEN",
        ]));
        let list = ["AWS_*", "HOME", "VAULT_TOKEN", "NONE"].map(str::to_owned);
        let narrowed = inherited.only(&list);
        assert_eq!(names(&narrowed), ["AWS_PROFILE", "AWS_REGION", "HOME"]);
        assert_eq!(names(&narrowed.only(&[])), [""; 0]);
    }

    #[test]
    fn names_that_are_no_text_are_judged_as_well() {
        use std::os::unix::ffi::OsStringExt as _;
        let name = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let environment = BTreeMap::from([
            (name(b"CTS_\xff"), "x".into()),
            (name(b"OTHER_\xff"), "x".into()),
        ]);
        let inherited = InheritedEnvironment::of(&environment);
        assert_eq!(inherited.variables().len(), 1);
        assert_eq!(inherited.withheld().len(), 1);
    }

    #[test]
    fn values_do_not_show_in_debug_output() {
        let inherited = InheritedEnvironment::of(&environment(&["AWS_PROFILE"]));
        assert_eq!(format!("{inherited:?}"), "{\"AWS_PROFILE\"}");
    }
}
