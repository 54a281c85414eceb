//! Forms of the arguments of providers, from their schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

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

/// Names in a list, as in the file of cts, or names of the members of an object, as Terraform prints them.
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

    pub(crate) fn read(path: &Path) -> serde_json::Result<Self> {
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
