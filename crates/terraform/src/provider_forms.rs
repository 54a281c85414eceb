//! Which arguments of providers are nested blocks, as their schemas say (docs/terraform.md#maintf).
//!
//! Schemas are read after `init`, and only if a configuration leaves the form open. Forms are kept for each
//! lock file: in the task directory and, for tasks with the same lock file, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use cts_core::Chain;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::task::spawn_blocking;

use crate::attempt::Attempt;
use crate::command::Step;
use crate::directory::{create_secret, remove_if_present, write_if_different};
use crate::error::{CommandError, CommandFailure};
use crate::prepare::{NO_LOCK, lock_digest};
use crate::process::StdoutUse;
use crate::render::RootModule;
use crate::terraform::{Terraform, failed, must_succeed};

/// The file with the forms, in the task directory.
const FORMS_FILE: &str = ".cts-provider-forms.json";

/// The file into which Terraform writes the schemas, which can have many megabytes.
const SCHEMAS_FILE: &str = ".cts-provider-schemas.json";

/// Most lock files whose forms are kept in memory.
const KEPT: usize = 100;

/// How an argument of a provider is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name { … }`.
    Block,
    /// `name = …`.
    Attribute,
}

/// The forms of all arguments of some providers, by their source addresses.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProviderForms(BTreeMap<String, Body>);

/// Attributes and nested blocks of a block.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Body {
    #[serde(
        default,
        skip_serializing_if = "BTreeSet::is_empty",
        deserialize_with = "names"
    )]
    attributes: BTreeSet<String>,
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "block_types"
    )]
    blocks: BTreeMap<String, NestedBlock>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NestedBlock {
    #[serde(default)]
    block: Body,
}

/// Names in a list, as the file of cts has them, or names of the members of an object, as Terraform prints
/// them.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<String>, D::Error> {
    deserializer.deserialize_any(Names)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = BTreeSet<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("names, or an object with members of these names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = list.next_element()? {
            names.insert(name);
        }
        Ok(names)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, IgnoredAny)) = members.next_entry()? {
            names.insert(name);
        }
        Ok(names)
    }
}

/// The output of `providers schema -json`; the parts that are used.
#[derive(Debug, Deserialize)]
struct Schemas {
    #[serde(default)]
    provider_schemas: BTreeMap<String, Schema>,
}

#[derive(Debug, Deserialize)]
struct Schema {
    #[serde(default)]
    provider: NestedBlock,
}

/// The file in a task directory.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<F> {
    lock: String,
    forms: F,
}

impl ProviderForms {
    /// The form of the argument at `path` of the provider with this source; `None` if it is not known.
    ///
    /// A source without a host matches the registry that Terraform has chosen.
    pub(crate) fn form(&self, source: &str, path: &[String]) -> Option<Form> {
        let source = source.to_lowercase();
        let is_source = |address: &str| {
            let rest = address.strip_suffix(&source);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let mut known = self.0.iter();
        let (_address, mut body) = known.find(|(address, _body)| is_source(address))?;
        let (name, around) = path.split_last()?;
        for name in around {
            body = &body.blocks.get(name)?.block;
        }
        if body.blocks.contains_key(name) {
            Some(Form::Block)
        } else if body.attributes.contains(name) {
            Some(Form::Attribute)
        } else {
            None
        }
    }

    fn read(path: &Path) -> serde_json::Result<Self> {
        let file = File::open(path).map_err(serde_json::Error::io)?;
        Self::parse(BufReader::new(file))
    }

    fn parse(schemas: impl Read) -> serde_json::Result<Self> {
        let schemas: Schemas = serde_json::from_reader(schemas)?;
        let schemas = schemas.provider_schemas.into_iter();
        Ok(Self(
            schemas
                .map(|(address, schema)| (address.to_lowercase(), schema.provider.block))
                .collect(),
        ))
    }
}

impl Terraform {
    /// The root module with the forms that are known for the lock file in a task directory. Reads files only where the
    /// configuration leaves a form open.
    pub fn with_known_forms(&self, directory: &Path, root: RootModule) -> RootModule {
        if !root.has_open_forms() {
            return root;
        }
        let forms = self.known_forms(directory);
        forms
            .and_then(|forms| root.with_forms(&forms))
            .unwrap_or(root)
    }

    /// Forms that are known for the lock file in a task directory.
    fn known_forms(&self, directory: &Path) -> Option<Arc<ProviderForms>> {
        let lock = lock_digest(directory);
        let remembered = {
            let forms = self.forms.lock();
            forms.get(&lock).map(Arc::clone)
        };
        remembered.or_else(|| {
            let file = File::open(directory.join(FORMS_FILE)).ok()?;
            let kept: Kept<ProviderForms> = serde_json::from_reader(BufReader::new(file)).ok()?;
            (kept.lock == lock).then(|| self.remember_forms(lock, kept.forms))
        })
    }

    /// Renders the root module again, with the forms that the schemas of its providers have; `None` if it is
    /// right as it is. The directory must be initialised. If the schemas cannot be read, the forms stay open,
    /// as in the original (docs/terraform.md#maintf).
    pub(crate) async fn formed(
        &self,
        attempt: &Attempt,
        root: &RootModule,
    ) -> Result<Option<RootModule>, CommandError> {
        if !root.has_open_forms() {
            return Ok(None);
        }
        let directory = attempt.directory.path();
        let forms = match self.known_forms(directory) {
            Some(forms) => forms,
            None => match self.learn_forms(attempt).await {
                Ok(forms) => forms,
                Err(error) if error.is_interrupted() || error.has_left_processes() => {
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!(
                        task = %attempt.task,
                        error = %Chain(&error),
                        "the schemas of the providers cannot be read: arguments whose form the configuration leaves open are written as nested blocks"
                    );
                    return Ok(None);
                }
            },
        };
        let Some(formed) = root.with_forms(&forms) else {
            return Ok(None);
        };
        let written = attempt.directory.write_root(&formed);
        written.map_err(|error| failed(attempt, Step::Schemas, error))?;
        Ok(Some(formed))
    }

    async fn learn_forms(&self, attempt: &Attempt) -> Result<Arc<ProviderForms>, CommandError> {
        let directory = attempt.directory.path();
        let schemas = directory.join(SCHEMAS_FILE);
        let unwritten = |error| failed(attempt, Step::Schemas, error);
        Self::select_workspace(attempt)?;
        let file = create_secret(&schemas).map_err(unwritten)?;
        let ended = self.run(attempt, Step::Schemas, StdoutUse::File(file));
        let ended = ended
            .await
            .and_then(|ended| must_succeed(attempt, Step::Schemas, ended));
        let path = schemas.clone();
        let reading = spawn_blocking(move || ProviderForms::read(&path)).await;
        remove_if_present(&schemas).map_err(unwritten)?;
        ended?;
        let forms = reading
            .map_err(CommandFailure::Supervision)
            .and_then(|read| read.map_err(CommandFailure::Unreadable))
            .map_err(|failure| failed(attempt, Step::Schemas, failure))?;
        let lock = lock_digest(directory);
        let kept = Kept {
            lock: lock.clone(),
            forms: &forms,
        };
        let text = serde_json::to_string(&kept).map_err(CommandFailure::Unreadable);
        let text = text.map_err(|failure| failed(attempt, Step::Schemas, failure))?;
        write_if_different(&directory.join(FORMS_FILE), &text).map_err(unwritten)?;
        Ok(self.remember_forms(lock, forms))
    }

    fn remember_forms(&self, lock: String, forms: ProviderForms) -> Arc<ProviderForms> {
        let forms = Arc::new(forms);
        // Without a lock file the providers of two tasks may differ.
        if lock != NO_LOCK {
            let mut known = self.forms.lock();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(lock, Arc::clone(&forms));
        }
        forms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"{
      "format_version": "1.0",
      "provider_schemas": {
        "registry.terraform.io/hashicorp/azurerm": {
          "provider": {"version": 0, "block": {
            "attributes": {"subscription_id": {"type": "string", "optional": true}},
            "block_types": {"features": {"nesting_mode": "list", "min_items": 1, "block": {
              "block_types": {"key_vault": {"nesting_mode": "list", "block": {
                "attributes": {"purge": {"type": "bool"}}
              }}}
            }}}
          }},
          "resource_schemas": {"azurerm_thing": {"version": 0, "block": {}}}
        },
        "registry.terraform.io/mastercard/restapi": {
          "provider": {"version": 0, "block": {
            "attributes": {"headers": {"type": ["map", "string"], "optional": true}}
          }}
        },
        "terraform.io/builtin/terraform": {"resource_schemas": {}}
      }
    }"#;

    fn form(source: &str, path: &[&str]) -> Option<Form> {
        let forms = ProviderForms::parse(PRINTED.as_bytes()).unwrap();
        let text = serde_json::to_string(&forms).unwrap();
        assert_eq!(serde_json::from_str::<ProviderForms>(&text).unwrap(), forms);
        let path: Vec<_> = path.iter().map(|&name| name.to_owned()).collect();
        forms.form(source, &path)
    }

    #[test]
    fn a_schema_says_what_is_a_block() {
        let azurerm = |path: &[&str]| form("hashicorp/azurerm", path);
        assert_eq!(azurerm(&["features"]), Some(Form::Block));
        assert_eq!(azurerm(&["features", "key_vault"]), Some(Form::Block));
        let purge = ["features", "key_vault", "purge"];
        assert_eq!(azurerm(&purge), Some(Form::Attribute));
        assert_eq!(azurerm(&["subscription_id"]), Some(Form::Attribute));
        assert_eq!(azurerm(&["other"]), None);
        assert_eq!(azurerm(&["subscription_id", "x"]), None);
        assert_eq!(azurerm(&[]), None);
        assert_eq!(form("hashicorp/restapi", &["headers"]), None);
        assert_eq!(form("rm", &["features"]), None);
        let attribute = Some(Form::Attribute);
        assert_eq!(form("Mastercard/restapi", &["headers"]), attribute);
        let address = "registry.terraform.io/Mastercard/restapi";
        assert_eq!(form(address, &["headers"]), attribute);
    }
}
