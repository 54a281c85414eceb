//! Views: data watched in Consul, and its last known state.

pub(crate) mod condition;
pub(crate) mod filter;
mod id;
mod item;
pub(crate) mod service;
mod snapshot;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::view::condition::KvQuery;

pub use id::ViewId;
pub use item::{CatalogService, Item, ItemKey, KeyValue};
pub use snapshot::{UnknownRevision, ViewDelta, ViewSnapshot};

/// One dependency on Consul, shared by all tasks that have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// The instances of one service name.
    Service(ServiceView),
    /// The instances of all services whose names match.
    Services(ServicesView),
    /// The names of services and their tags.
    CatalogServices(CatalogServicesView),
    /// A key, or all keys below a prefix; the path without its leading slash.
    ConsulKv(KvQuery),
}

/// Kind of the items of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// Instances of services.
    Instances,
    /// Names in the catalog.
    Services,
    /// Keys with their values.
    Keys,
}

impl View {
    /// Returns the kind of its items.
    pub const fn item_kind(&self) -> ItemKind {
        match self {
            Self::Service(_) | Self::Services(_) => ItemKind::Instances,
            Self::CatalogServices(_) => ItemKind::Services,
            Self::ConsulKv(_) => ItemKind::Keys,
        }
    }

    /// Its datacenter, empty for the agent's own.
    pub fn datacenter(&self) -> &str {
        match self {
            Self::Service(view) => &view.datacenter,
            Self::Services(view) => &view.datacenter,
            Self::CatalogServices(view) => &view.datacenter,
            Self::ConsulKv(query) => &query.datacenter,
        }
    }
}

/// The instances of one service name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceView {
    /// Service name as configured; Consul compares it without regard to case.
    pub name: String,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
    /// Consul Enterprise namespace, empty for the token's.
    pub namespace: String,
    /// Consul filter expression, without leading and trailing newlines.
    pub filter: String,
}

impl ServiceView {
    /// Whether Consul is queried for passing instances only: always, unless the filter itself refers to check states
    /// (docs/runs.md#views-and-blocking-queries).
    pub fn passing_only(&self) -> bool {
        !self.filter.contains("Checks.Status")
    }
}

/// The passing instances of all services whose names match (docs/runs.md#views-and-blocking-queries).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServicesView {
    /// RE2 expression over service names, not anchored; "" matches every service.
    pub regexp: String,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
    /// Consul Enterprise namespace, empty for the token's.
    pub namespace: String,
    /// Consul filter expression, without leading and trailing newlines.
    pub filter: String,
}

/// The names of services and their tags (docs/runs.md#catalog-services-and-keys).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogServicesView {
    /// RE2 expression over service names, not anchored; "" matches every service.
    pub regexp: String,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
    /// Consul Enterprise namespace, empty for the token's.
    pub namespace: String,
    /// Only services on nodes with all these pairs in their meta data.
    pub node_meta: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests;
