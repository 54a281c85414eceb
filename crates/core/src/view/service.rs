//! One instance of a service, reduced to the data that a module can see (docs/runs.md#instances).

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::spelled;

spelled! {
    /// The aggregate of an instance's checks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum HealthStatus {
        /// All checks pass, or the instance has no checks.
        Passing = "passing",
        /// At least one check warns, none is critical.
        Warning = "warning",
        /// At least one check is critical.
        Critical = "critical",
        /// Node or service is in maintenance mode.
        Maintenance = "maintenance",
        /// A check has a status that Consul does not document; rendered as the empty string.
        Unknown = "",
    }
}

/// Identifies an instance inside one view. Its order is the order in which a module gets the instances of a service:
/// by node name, then by service id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey {
    /// Name of the node.
    pub node: String,
    /// Id of the service on that node.
    pub id: String,
}

/// Names with their values, by name. Each instance has three such maps with few names; a `BTreeMap` would take more
/// memory than all of its texts.
pub type Labels = LiteMap<String, String>;

/// A named port of an instance, which Consul supports since 1.22.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServicePort {
    /// Its name.
    pub name: String,
    /// Its number as stored in Consul.
    pub port: i64,
    /// Whether it is marked as the default of its instance.
    pub default: bool,
}

/// One instance as modules see it. Further data of Consul (check output, modify indexes, weights, …) is left out on
/// purpose: changes of that data run nothing (docs/runs.md#instances).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServiceInstance {
    /// Service id.
    pub id: String,
    /// Service name in the registered spelling.
    pub name: String,
    /// Kind of service; empty for an ordinary service.
    pub kind: String,
    /// Address of the service; if it has none, that of the node.
    pub address: String,
    /// Port as stored in Consul, which accepts numbers that no socket can have. With named ports, the number of the
    /// [default port](ServiceInstance::default_port).
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
    /// Named ports, sorted. An instance without named ports is serialized as in versions of cts that did not support
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ServicePort>,
}

impl ServiceInstance {
    /// Key and position of this instance in its view.
    pub fn key(&self) -> InstanceKey {
        InstanceKey {
            node: self.node.clone(),
            id: self.id.clone(),
        }
    }

    /// The port that is marked as the default, else the first by name; `None` without named ports.
    pub fn default_port(&self) -> Option<&ServicePort> {
        let mut ports = self.ports.iter();
        ports.find(|port| port.default).or(self.ports.first())
    }

    /// Whether the instance has named ports, but none that is marked as the default.
    pub fn lacks_default_port(&self) -> bool {
        self.default_port().is_some_and(|port| !port.default)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An instance without named ports, as inputs have it.
    const EARLIER: &str = r#"{"id":"web-1","name":"web","kind":"","address":"10.0.0.1","port":80,"meta":{"k":"v"},"tags":["a"],"namespace":"","status":"passing","node":"n","node_id":"i","node_address":"10.0.0.1","node_datacenter":"dc1","node_tagged_addresses":[],"node_meta":[]}"#;

    fn port(name: &str, port: i64, default: bool) -> ServicePort {
        ServicePort {
            name: name.to_owned(),
            port,
            default,
        }
    }

    #[test]
    fn an_instance_without_named_ports_is_written_as_by_earlier_versions() {
        let instance: ServiceInstance = serde_json::from_str(EARLIER).unwrap();
        assert_eq!(serde_json::to_string(&instance).unwrap(), EARLIER);
        let named = ServiceInstance {
            ports: vec![port("http", 80, true)],
            ..instance
        };
        let text = serde_json::to_string(&named).unwrap();
        assert_eq!(
            text.strip_prefix(EARLIER.strip_suffix('}').unwrap()),
            Some(r#","ports":[{"name":"http","port":80,"default":true}]}"#)
        );
        let read: ServiceInstance = serde_json::from_str(&text).unwrap();
        assert_eq!(read, named);
    }

    #[test]
    fn the_default_port_is_the_marked_one_else_the_first() {
        let with = |ports: &[ServicePort]| ServiceInstance {
            ports: ports.to_vec(),
            ..serde_json::from_str(EARLIER).unwrap()
        };
        let (admin, http) = (port("admin", 81, false), port("http", 80, true));
        let marked = with(&[admin.clone(), http.clone()]);
        assert_eq!(marked.default_port(), Some(&http));
        assert!(!marked.lacks_default_port());
        let unmarked = with(&[admin.clone(), port("http", 80, false)]);
        assert_eq!(unmarked.default_port(), Some(&admin));
        assert!(unmarked.lacks_default_port());
        let none = with(&[]);
        assert_eq!(
            (none.default_port(), none.lacks_default_port()),
            (None, false)
        );
    }
}
