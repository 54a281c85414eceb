//! Provider blocks and references to them (`docs/configuration.md#terraform_provider`).

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of a provider that does not exist in Terraform: for trying out what follows an apply
/// (docs/terraform.md#fake-sync).
pub const FAKE_SYNC: &str = "fake-sync";

/// A reference to a provider block: `name` or `name.alias`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ProviderId {
    /// Name of the provider: the text before the first dot.
    pub name: String,
    /// Alias of the block: the text after the first dot.
    pub alias: Option<String>,
}

impl From<&str> for ProviderId {
    fn from(text: &str) -> Self {
        match text.split_once('.') {
            Some((name, alias)) => Self {
                name: name.into(),
                alias: Some(alias.into()),
            },
            None => Self {
                name: text.into(),
                alias: None,
            },
        }
    }
}

impl From<String> for ProviderId {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl FromStr for ProviderId {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

impl From<ProviderId> for String {
    fn from(id: ProviderId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.alias {
            Some(alias) => write!(f, "{}.{alias}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// One `terraform_provider` block. Its arguments and environment may hold secrets, so `Debug` shows only the id of
/// the provider.
#[derive(Clone, PartialEq)]
pub struct ProviderBlock {
    /// Provider name, the label of the block.
    pub name: String,
    /// `alias`, if it is a string.
    pub alias: Option<String>,
    /// All arguments as written, including `alias` and `auto_commit`, without `task_env`.
    pub arguments: Map<String, Value>,
    /// Paths of arguments that are written as blocks, `x { … }`, outermost first. All other arguments may be blocks
    /// or attributes.
    pub blocks: BTreeSet<Vec<String>>,
    /// Environment of the Terraform processes of tasks that use this block; never written to a file.
    pub task_env: BTreeMap<String, String>,
}

impl ProviderBlock {
    /// The id by which tasks refer to this block.
    pub fn id(&self) -> ProviderId {
        ProviderId {
            name: self.name.clone(),
            alias: self.alias.clone(),
        }
    }

    /// Finds the block that `id` selects: `name` selects the first block with that name, whatever its alias;
    /// `name.alias` must match both (`docs/configuration.md#terraform_provider`).
    pub fn select<'a>(blocks: &'a [Self], id: &ProviderId) -> Option<&'a Self> {
        blocks
            .iter()
            .find(|block| block.name == id.name && (id.alias.is_none() || block.alias == id.alias))
    }
}

impl fmt::Debug for ProviderBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBlock")
            .field("id", &self.id().to_string())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, alias: Option<&str>) -> ProviderBlock {
        let mut arguments = Map::new();
        arguments.insert("password".into(), Value::from("hunter2"));
        ProviderBlock {
            name: name.into(),
            alias: alias.map(Into::into),
            arguments,
            blocks: BTreeSet::new(),
            task_env: BTreeMap::new(),
        }
    }

    #[test]
    fn a_plain_name_selects_the_first_block_of_that_name() {
        let blocks = [block("fw", Some("north")), block("fw", None)];
        let selected = ProviderBlock::select(&blocks, &ProviderId::from("fw"));
        assert_eq!(selected.unwrap().alias.as_deref(), Some("north"));
    }

    #[test]
    fn an_alias_must_match() {
        let blocks = [block("fw", Some("north"))];
        assert!(ProviderBlock::select(&blocks, &ProviderId::from("fw.south")).is_none());
        assert!(ProviderBlock::select(&blocks, &ProviderId::from("fw.north")).is_some());
    }

    #[test]
    fn arguments_do_not_show_in_debug_output() {
        let shown = format!("{:?}", block("fw", Some("north")));
        assert!(shown.contains("fw.north"));
        assert!(!shown.contains("hunter2"));
    }
}
