//! Items of a view.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::view::service::{InstanceKey, ServiceInstance};

/// The name of a service with the tags of all its instances (docs/runs.md#catalog-services-and-keys).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CatalogService {
    /// Name in the registered spelling.
    pub name: String,
    /// Tags of all instances, sorted.
    pub tags: Vec<String>,
}

/// A key of Consul's KV store with its value (docs/runs.md#catalog-services-and-keys).
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyValue {
    /// The whole key.
    pub key: String,
    /// The value as text.
    pub value: String,
}

/// Leaves out the value, which may be secret.
impl std::fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValue")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// One item of a view. All items of one view have the same kind. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// An instance of a service.
    Instance(Arc<ServiceInstance>),
    /// A name in the catalog.
    Service(Arc<CatalogService>),
    /// A key.
    Key(Arc<KeyValue>),
    /// A key whose value cannot be passed on. Never part of an input (docs/runs.md#keys-without-a-readable-value).
    UnreadableKey(Arc<str>),
}

/// Identifies an item inside its view. Its order is the order in which a module gets items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// Key of an instance.
    Instance(InstanceKey),
    /// A name in the catalog, or a key in Consul's key-value store.
    Name(String),
}

impl Item {
    /// Key and position of this item in its view.
    pub fn key(&self) -> ItemKey {
        match self {
            Self::Instance(instance) => ItemKey::Instance(instance.key()),
            Self::Service(service) => ItemKey::Name(service.name.clone()),
            Self::Key(pair) => ItemKey::Name(pair.key.clone()),
            Self::UnreadableKey(key) => ItemKey::Name(key.as_ref().to_owned()),
        }
    }
}

impl From<ServiceInstance> for Item {
    fn from(instance: ServiceInstance) -> Self {
        Self::Instance(Arc::new(instance))
    }
}

impl From<CatalogService> for Item {
    fn from(service: CatalogService) -> Self {
        Self::Service(Arc::new(service))
    }
}

impl From<KeyValue> for Item {
    fn from(pair: KeyValue) -> Self {
        Self::Key(Arc::new(pair))
    }
}
