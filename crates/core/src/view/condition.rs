//! Condition that triggers a task, and further inputs of its module (docs/configuration.md#condition).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Condition that triggers a task (docs/configuration.md#condition).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::enum_variant_names,
    reason = "the variants are called as their labels in the files"
)]
pub enum Condition {
    /// No condition: the task runs once, and again when the task itself is changed.
    #[default]
    NoCondition,
    /// Instances of services.
    Services(ServicesCondition),
    /// The names of services and their tags.
    CatalogServices(CatalogServicesCondition),
    /// A key, or all keys below a prefix.
    ConsulKv(ConsulKvCondition),
    /// Points in time.
    Schedule(ScheduleCondition),
}

/// `condition "services"` (docs/configuration.md#condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesCondition {
    /// The services. No name is empty; without any name `regexp` is set, and only then.
    #[serde(flatten)]
    pub query: ServicesQuery,
    /// Whether the module gets the instances; if not, changes still run it.
    pub use_as_module_input: bool,
}

/// Instances of services with selected meta data. The content of a module input is not validated
/// (`docs/configuration.md#module_input`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesQuery {
    /// Names as configured.
    #[serde(default)]
    pub names: Vec<String>,
    /// RE2 expression over service names, not anchored; "" matches every service. Applies even if names are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regexp: Option<String>,
    /// Datacenter, empty for the agent's own.
    #[serde(default)]
    pub datacenter: String,
    /// Consul Enterprise namespace, may be empty.
    #[serde(default)]
    pub namespace: String,
    /// Consul filter expression as configured, may be empty.
    #[serde(default)]
    pub filter: String,
    /// Copied into every instance that the module gets.
    #[serde(default)]
    pub cts_user_defined_meta: BTreeMap<String, String>,
    /// Settings of the deprecated `service` blocks, by service name. They replace the settings above for that service
    /// (docs/configuration.md#service).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub declared: BTreeMap<String, DeclaredService>,
}

/// Settings of a deprecated `service` block for its service (docs/configuration.md#service).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredService {
    /// Datacenter, empty for the agent's own.
    #[serde(default)]
    pub datacenter: String,
    /// Consul Enterprise namespace, may be empty.
    #[serde(default)]
    pub namespace: String,
    /// Consul filter expression as configured, may be empty.
    #[serde(default)]
    pub filter: String,
    /// Copied into every instance of this service.
    #[serde(default)]
    pub cts_user_defined_meta: BTreeMap<String, String>,
}

/// `condition "catalog-services"` (docs/configuration.md#condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogServicesCondition {
    /// RE2 expression over service names, not anchored; "" matches every service.
    pub regexp: String,
    /// Datacenter, empty for the agent's own.
    #[serde(default)]
    pub datacenter: String,
    /// Consul Enterprise namespace, may be empty.
    #[serde(default)]
    pub namespace: String,
    /// Only services on nodes with all these pairs in their meta data.
    #[serde(default)]
    pub node_meta: BTreeMap<String, String>,
    /// Whether the module gets `catalog_services`.
    pub use_as_module_input: bool,
}

/// `condition "consul-kv"` (docs/configuration.md#condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsulKvCondition {
    /// The watched keys.
    pub query: KvQuery,
    /// Whether the module gets `consul_kv`.
    pub use_as_module_input: bool,
}

/// A key of Consul's KV store, or a prefix of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KvQuery {
    /// Key or prefix as configured.
    pub path: String,
    /// Whether `path` is a prefix.
    pub recurse: bool,
    /// Datacenter, empty for the agent's own.
    #[serde(default)]
    pub datacenter: String,
    /// Consul Enterprise namespace, may be empty.
    #[serde(default)]
    pub namespace: String,
}

/// `condition "schedule"` (docs/configuration.md#condition).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleCondition {
    /// Cron expression as configured, in the local time zone.
    pub cron: String,
}

/// Input of a module in addition to its condition, which does not trigger the task
/// (`docs/configuration.md#module_input`). A task has at most one of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleInput {
    /// Instances of services.
    Services(ServicesQuery),
    /// A key, or all keys below a prefix.
    ConsulKv(KvQuery),
}

impl Condition {
    /// The label of the condition's block.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NoCondition => "no-condition",
            Self::Services(_) => "services",
            Self::CatalogServices(_) => "catalog-services",
            Self::ConsulKv(_) => "consul-kv",
            Self::Schedule(_) => "schedule",
        }
    }

    /// The variable of the module that the condition fills, if the module gets it.
    pub const fn variable(&self) -> Option<&'static str> {
        match self {
            Self::Services(_) => Some("services"),
            Self::CatalogServices(_) => Some("catalog_services"),
            Self::ConsulKv(_) => Some("consul_kv"),
            Self::Schedule(_) | Self::NoCondition => None,
        }
    }
}

impl ModuleInput {
    /// The variable of the module that the input fills.
    pub const fn variable(&self) -> &'static str {
        match self {
            Self::Services(_) => "services",
            Self::ConsulKv(_) => "consul_kv",
        }
    }
}
