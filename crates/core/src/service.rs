//! One instance of a service, reduced to what a module can see (docs/runs.md#instances).

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

/// The aggregate of an instance's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// All checks pass, or the instance has no checks.
    Passing,
    /// At least one check warns, none is critical.
    Warning,
    /// At least one check is critical.
    Critical,
    /// Node or service is in maintenance mode.
    Maintenance,
    /// A check has a status that Consul does not document; rendered as the empty string.
    Unknown,
}

impl HealthStatus {
    /// The text that a module sees.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passing => "passing",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Maintenance => "maintenance",
            Self::Unknown => "",
        }
    }
}

/// Identifies an instance inside one view; the order is the one in which a module gets instances of
/// one name: by node name, then by service id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey {
    /// Name of the node.
    pub node: String,
    /// Id of the service on that node.
    pub id: String,
}

/// Names with their values, by name. Each instance has three such maps with few names; a `BTreeMap` would take
/// more memory than all of its texts.
pub type Labels = LiteMap<String, String>;

/// One instance as modules see it. Further data of Consul (check output, modify indexes, weights, …) is left
/// out on purpose: its changes do not count (docs/runs.md#instances).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServiceInstance {
    /// Service id.
    pub id: String,
    /// Service name in the registered spelling.
    pub name: String,
    /// Kind of service; empty for a normal one.
    pub kind: String,
    /// Address of the service, or of the node where the service has none.
    pub address: String,
    /// Port as Consul has it, which accepts numbers that no socket can have.
    pub port: i64,
    /// Meta data of the service.
    pub meta: Labels,
    /// Tags, sorted.
    pub tags: Vec<String>,
    /// Consul Enterprise namespace, else empty.
    pub namespace: String,
    /// Aggregate of the checks.
    pub status: HealthStatus,
    /// Node name.
    pub node: String,
    /// Node id.
    pub node_id: String,
    /// Node address.
    pub node_address: String,
    /// Datacenter of the node.
    pub node_datacenter: String,
    /// Tagged addresses of the node.
    pub node_tagged_addresses: Labels,
    /// Meta data of the node.
    pub node_meta: Labels,
}

impl ServiceInstance {
    /// Identity and place of this instance in its view.
    pub fn key(&self) -> InstanceKey {
        InstanceKey {
            node: self.node.clone(),
            id: self.id.clone(),
        }
    }

    /// Key in the `services` map of a module: the non-empty parts of service id, node, namespace and
    /// datacenter, joined with dots (docs/terraform.md#keys-of-services).
    pub fn module_key(&self) -> String {
        [&self.id, &self.node, &self.namespace, &self.node_datacenter]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(".")
    }
}
