//! Variables of a workspace: the values of the input, of the task and of its providers
//! (docs/hcp-terraform.md#variables).

use std::collections::{BTreeMap, BTreeSet};

use cts_core::Digest;
use cts_hcp_terraform::{
    ApiError, LONGEST_VALUE, RunVariable, Server, Variable, VariableCategory, VariableDraft,
};
use cts_terraform::RenderedVariable;
use moka::sync::Cache;
use secrecy::SecretString;

use super::target_workspace::TargetWorkspace;

/// Begin of the description by which cts recognises the variables that it made.
const DESCRIPTION: &str = "managed by cts; edits are replaced";

/// Variables whose last known content is remembered.
const REMEMBERED: u64 = 20_000;

/// A variable that a workspace is to have.
#[derive(Debug, Clone)]
pub(crate) struct WantedVariable {
    pub(crate) key: String,
    pub(crate) value: SecretString,
    pub(crate) digest: Digest,
    pub(crate) category: VariableCategory,
    pub(crate) is_sensitive: bool,
    /// Whether the value comes from Consul.
    pub(crate) is_data: bool,
}

/// Values of a root module, by the way in which they reach the server.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// Variables of the workspace, or of the run.
    pub(crate) variables: Vec<WantedVariable>,
    /// Values that are too long for variables, as the text of a file.
    pub(crate) file: Option<String>,
    /// Names of the values in the file.
    pub(crate) long: Vec<String>,
}

/// Versions and digests of variables that this worker has written: the server does not show secrets.
#[derive(Debug, Clone)]
pub(crate) struct KnownVariables(Cache<String, (String, Digest)>);

impl Default for KnownVariables {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED))
    }
}

impl KnownVariables {
    fn note(&self, variable: &Variable, digest: Digest) {
        if let Some(version) = &variable.version_id {
            self.0
                .insert(variable.id.clone(), (version.clone(), digest));
        }
    }

    fn is_current(&self, variable: &Variable, wanted: &WantedVariable) -> bool {
        if !wanted.is_sensitive {
            // Some servers remove white space around a value.
            let value = variable.value.as_deref().map(str::trim);
            return value
                .is_some_and(|value| Digest::of_parts([value.as_bytes()]) == wanted.digest);
        }
        let known = self.0.get(&variable.id);
        known.is_some_and(|(version, digest)| {
            variable.version_id.as_ref() == Some(&version) && digest == wanted.digest
        })
    }
}

/// Sorts values by the way in which they reach the server.
pub(crate) fn values(rendered: Vec<RenderedVariable>, environment: &[(String, String)]) -> Values {
    let mut values = Values::default();
    for variable in rendered {
        if variable.value.len() > LONGEST_VALUE && !variable.is_sensitive {
            let file = values.file.get_or_insert_default();
            file.push_str(&variable.name);
            file.push_str(" = ");
            file.push_str(&variable.value);
            file.push('\n');
            values.long.push(variable.name);
        } else {
            let wanted = WantedVariable::new(
                variable.name,
                variable.value,
                VariableCategory::Terraform,
                variable.is_sensitive,
            );
            values.variables.push(WantedVariable {
                is_data: variable.is_data,
                ..wanted
            });
        }
    }
    let environment = environment.iter().map(|(name, value)| {
        WantedVariable::new(name.clone(), value.clone(), VariableCategory::Env, true)
    });
    values.variables.extend(environment);
    values
}

impl WantedVariable {
    fn new(key: String, value: String, category: VariableCategory, is_sensitive: bool) -> Self {
        Self {
            key,
            digest: Digest::of_parts([value.trim().as_bytes()]),
            value: SecretString::from(value),
            category,
            is_sensitive,
            is_data: false,
        }
    }

    /// The variable as a value of one run, if that is possible.
    pub(crate) fn of_run(&self) -> Option<RunVariable> {
        let is_possible = self.category == VariableCategory::Terraform && !self.is_sensitive;
        is_possible.then(|| RunVariable {
            key: self.key.clone(),
            value: self.value.clone(),
        })
    }

    /// Whether a secret of a workspace equals this secret, by the mark in its description; `None` without a mark.
    pub(crate) fn is_the_written(&self, there: &Variable, workspace_id: &str) -> Option<bool> {
        let mark = there.description.strip_prefix(DESCRIPTION)?;
        (!mark.is_empty()).then(|| there.description == self.description(workspace_id))
    }

    /// The description, with a mark of a secret: the server does not show whether a secret is still the same. The mark has
    /// 16 bits, too few to find the secret by it.
    fn description(&self, workspace_id: &str) -> String {
        if !self.is_sensitive {
            return DESCRIPTION.to_owned();
        }
        let parts = [
            workspace_id.as_bytes(),
            self.key.as_bytes(),
            self.digest.as_bytes(),
        ];
        let [high, low, ..] = *Digest::of_parts(parts).as_bytes();
        format!("{DESCRIPTION} [{high:02x}{low:02x}]")
    }

    fn draft<'a>(&'a self, description: &'a str) -> VariableDraft<'a> {
        VariableDraft {
            key: &self.key,
            value: self.value.clone(),
            category: self.category,
            is_hcl: self.category == VariableCategory::Terraform,
            is_sensitive: self.is_sensitive,
            description,
        }
    }
}

/// One change of a workspace's variables.
#[derive(Debug)]
enum Change<'a> {
    Create(&'a WantedVariable),
    Update(&'a Variable, &'a WantedVariable),
    /// Deleted, and created again: the server does not change a secret into anything else.
    Replace(&'a Variable, &'a WantedVariable),
    Delete(&'a Variable),
}

/// The changes that bring the variables of a workspace into step. Variables that cts has made and that are not wanted
/// any more are removed, except for those to be `kept`.
fn changes<'a>(
    present: &'a [Variable],
    wanted: &'a [WantedVariable],
    known: &KnownVariables,
    kept: &[String],
) -> Vec<Change<'a>> {
    let name = |variable: &Variable| {
        (
            variable.key.clone(),
            variable.category == VariableCategory::Env,
        )
    };
    let by_name: BTreeMap<_, &Variable> = present.iter().map(|one| (name(one), one)).collect();
    let mut changes = Vec::new();
    let mut named = BTreeSet::new();
    for variable in wanted {
        let is_env = variable.category == VariableCategory::Env;
        let name = (variable.key.clone(), is_env);
        match by_name.get(&name) {
            None => changes.push(Change::Create(variable)),
            Some(there) => {
                let is_same_kind =
                    there.is_sensitive == variable.is_sensitive && there.is_hcl != is_env;
                if !is_same_kind && there.is_sensitive {
                    changes.push(Change::Replace(there, variable));
                } else if !is_same_kind || !known.is_current(there, variable) {
                    changes.push(Change::Update(there, variable));
                }
            }
        }
        named.insert(name);
    }
    let gone = by_name.iter().filter(|(name, there)| {
        let is_ours = there.description.starts_with(DESCRIPTION);
        is_ours && !named.contains(*name) && !kept.contains(&there.key)
    });
    changes.extend(gone.map(|(_name, there)| Change::Delete(there)));
    changes
}

/// Writes the variables of a workspace that differ from the `present` variables.
pub(crate) async fn write_variables(
    server: &Server,
    TargetWorkspace {
        workspace_id,
        present,
        ..
    }: TargetWorkspace<'_>,
    (wanted, kept): (&[WantedVariable], &[String]),
    known: &KnownVariables,
) -> Result<(), ApiError> {
    for change in changes(present, wanted, known, kept) {
        let (variable, written) = match change {
            Change::Create(variable) => (variable, create(server, workspace_id, variable).await?),
            Change::Update(there, variable) => {
                let description = variable.description(workspace_id);
                let draft = variable.draft(&description);
                let written = server.update_variable(workspace_id, &there.id, &draft);
                (variable, written.await?)
            }
            Change::Replace(there, variable) => {
                server.delete_variable(workspace_id, &there.id).await?;
                (variable, create(server, workspace_id, variable).await?)
            }
            Change::Delete(there) => {
                server.delete_variable(workspace_id, &there.id).await?;
                continue;
            }
        };
        known.note(&written, variable.digest);
    }
    Ok(())
}

async fn create(
    server: &Server,
    workspace_id: &str,
    variable: &WantedVariable,
) -> Result<Variable, ApiError> {
    let description = variable.description(workspace_id);
    let draft = variable.draft(&description);
    server.create_variable(workspace_id, &draft).await
}

/// The variable of a workspace that a server has after it was written.
#[cfg(test)]
pub(crate) fn drafted(variable: &WantedVariable, workspace_id: &str) -> Variable {
    Variable {
        id: format!("var-{}", variable.key),
        attributes: cts_hcp_terraform::VariableAttributes {
            key: variable.key.clone(),
            value: None,
            category: variable.category,
            is_hcl: variable.category == VariableCategory::Terraform,
            is_sensitive: variable.is_sensitive,
            description: variable.description(workspace_id),
            version_id: None,
        },
        relationships: serde::de::IgnoredAny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(key: &str, value: &str, is_sensitive: bool) -> WantedVariable {
        let (key, value) = (key.to_owned(), value.to_owned());
        WantedVariable::new(key, value, VariableCategory::Terraform, is_sensitive)
    }

    fn present(key: &str, value: Option<&str>, version: &str) -> Variable {
        let mut variable = drafted(&wanted(key, "", value.is_none()), "ws-1");
        let attributes = &mut variable.attributes;
        attributes.value = value.map(str::to_owned);
        DESCRIPTION.clone_into(&mut attributes.description);
        attributes.version_id = Some(version.to_owned());
        variable
    }

    fn summary(changes: &[Change<'_>]) -> Vec<String> {
        let texts = changes.iter().map(|change| match change {
            Change::Create(variable) => format!("+{}", variable.key),
            Change::Update(_, variable) => format!("~{}", variable.key),
            Change::Replace(_, variable) => format!("!{}", variable.key),
            Change::Delete(variable) => format!("-{}", variable.key),
        });
        texts.collect()
    }

    #[test]
    fn only_differences_are_written() {
        let known = KnownVariables::default();
        let mut by_hand = present("mine", Some("1"), "1");
        by_hand.attributes.description = "by hand".into();
        let present = [
            present("same", Some("{}\n"), "1"),
            present("other", Some("1"), "1"),
            present("secret", None, "1"),
            by_hand,
            present("gone", Some("1"), "1"),
        ];
        let wanted = [
            wanted("same", "{}", false),
            wanted("other", "2", false),
            wanted("secret", "s", true),
            wanted("new", "1", false),
        ];
        let all = summary(&changes(&present, &wanted, &known, &[]));
        assert_eq!(all, ["~other", "~secret", "+new", "-gone"]);
        let kept = summary(&changes(&present, &wanted, &known, &["gone".to_owned()]));
        assert_eq!(kept, ["~other", "~secret", "+new"]);
    }

    #[test]
    fn a_secret_is_written_again_if_it_or_its_version_has_changed() {
        let known = KnownVariables::default();
        let secret = [wanted("secret", "s", true)];
        let there = |version| [present("secret", None, version)];
        known.note(&there("1")[0], secret[0].digest);
        assert!(changes(&there("1"), &secret, &known, &[]).is_empty());
        assert_eq!(
            summary(&changes(&there("2"), &secret, &known, &[])),
            ["~secret"]
        );
        let other = [wanted("secret", "t", true)];
        assert_eq!(
            summary(&changes(&there("1"), &other, &known, &[])),
            ["~secret"]
        );
    }

    #[test]
    fn a_secret_never_becomes_plain_in_place() {
        let known = KnownVariables::default();
        let there = [present("token", None, "1")];
        let plain = [wanted("token", "1", false)];
        assert_eq!(summary(&changes(&there, &plain, &known, &[])), ["!token"]);
        let there = [present("token", Some("1"), "1")];
        let secret = [wanted("token", "1", true)];
        assert_eq!(summary(&changes(&there, &secret, &known, &[])), ["~token"]);
    }

    #[test]
    fn long_values_go_into_a_file_and_secrets_never_do() {
        let rendered = |name: &str, length: usize, is_sensitive| RenderedVariable {
            name: name.to_owned(),
            value: "1".repeat(length),
            is_sensitive,
            is_data: false,
        };
        let values = values(
            vec![
                rendered("services", LONGEST_VALUE + 1, false),
                rendered("consul_kv", LONGEST_VALUE, false),
                rendered("fw", LONGEST_VALUE + 1, true),
            ],
            &[("FW_TOKEN".to_owned(), "t".to_owned())],
        );
        assert!(values.file.unwrap().starts_with("services = 11"));
        assert_eq!(values.long, ["services"]);
        let variables = values.variables.iter();
        let of_run = variables.clone().filter_map(WantedVariable::of_run);
        assert_eq!(of_run.map(|one| one.key).collect::<Vec<_>>(), ["consul_kv"]);
        let keys: Vec<_> = variables.map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["consul_kv", "fw", "FW_TOKEN"]);
    }
}
