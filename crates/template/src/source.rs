//! Sources that templates ask for.

use std::fmt;

use serde_json::Value;

/// Something that a template reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A variable of the environment.
    Environment(String),
    /// A key of Consul's store.
    Key(KeyPath),
    /// All keys with this prefix.
    Tree(KeyPath),
    /// A secret of Vault.
    Secret(String),
    /// The names below a path of Vault.
    Secrets(String),
}

/// A key, or the beginning of keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath {
    /// Path without a leading slash.
    pub path: String,
    /// Datacenter; empty for the agent's own.
    pub datacenter: String,
}

/// Data of a source, possibly secret, so `Debug` shows only its kind.
#[derive(Clone, PartialEq)]
pub enum Found {
    /// The source does not exist.
    Nothing,
    Text(String),
    /// Keys with their values, or names with empty ones.
    Pairs(Vec<(String, String)>),
    /// Answer of Vault: an object with `Data`.
    Secret(Value),
}

impl KeyPath {
    /// Reads `path` or `path@datacenter`.
    pub(crate) fn of(text: &str) -> Self {
        let (path, datacenter) = text.rsplit_once('@').unwrap_or((text, ""));
        Self {
            path: path.strip_prefix('/').unwrap_or(path).to_owned(),
            datacenter: datacenter.to_owned(),
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match self.datacenter.as_str() {
            "" => Ok(()),
            datacenter => write!(f, "@{datacenter}"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::Key(path) => write!(f, "the key {path}"),
            Self::Tree(path) => write!(f, "the keys below {path}"),
            Self::Secret(path) => write!(f, "the secret {path}"),
            Self::Secrets(path) => write!(f, "the secrets below {path}"),
        }
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Text(_) => "Text",
            Self::Pairs(_) => "Pairs",
            Self::Secret(_) => "Secret",
        })
    }
}
