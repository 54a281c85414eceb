//! From a health answer to instances (spec/runtime-watch.md 1.9).

use std::collections::BTreeMap;

use cts_core::{HealthStatus, ServiceInstance};
use serde::{Deserialize, Deserializer};

use crate::error::ConsulError;

const NODE_MAINTENANCE: &str = "_node_maintenance";
const SERVICE_MAINTENANCE: &str = "_service_maintenance:";

/// The instances in a body of `/v1/health/service/<name>`, in Consul's order.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<ServiceInstance>, ConsulError> {
    let entries: Option<Vec<Entry>> = serde_json::from_slice(body).map_err(ConsulError::Decode)?;
    entries
        .unwrap_or_default()
        .into_iter()
        .map(Entry::into_instance)
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    node: Node,
    service: Service,
    #[serde(default, deserialize_with = "null_is_empty")]
    checks: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Node {
    #[serde(rename = "ID", default)]
    id: String,
    #[serde(rename = "Node")]
    name: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    datacenter: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    tagged_addresses: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    meta: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Service {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "Service")]
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    port: i64,
    #[serde(default, deserialize_with = "null_is_empty")]
    meta: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    tags: Vec<String>,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Check {
    #[serde(rename = "CheckID", default)]
    id: String,
    #[serde(default)]
    status: String,
}

/// Consul writes an empty list or map as `null`.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Entry {
    fn into_instance(self) -> Result<ServiceInstance, ConsulError> {
        let Self {
            node,
            service,
            checks,
        } = self;
        let Ok(port) = u16::try_from(service.port) else {
            return Err(ConsulError::ImpossiblePort {
                node: node.name,
                id: service.id,
                port: service.port,
            });
        };
        let mut tags = service.tags;
        tags.sort_unstable();
        let address = if service.address.is_empty() {
            node.address.clone()
        } else {
            service.address
        };
        Ok(ServiceInstance {
            id: service.id,
            name: service.name,
            kind: service.kind,
            address,
            port,
            meta: service.meta,
            tags,
            namespace: service.namespace,
            status: aggregate(&checks),
            node: node.name,
            node_id: node.id,
            node_address: node.address,
            node_datacenter: node.datacenter,
            node_tagged_addresses: node.tagged_addresses,
            node_meta: node.meta,
        })
    }
}

fn aggregate(checks: &[Check]) -> HealthStatus {
    let (mut maintenance, mut critical, mut warning) = (false, false, false);
    for check in checks {
        if check.id == NODE_MAINTENANCE || check.id.starts_with(SERVICE_MAINTENANCE) {
            maintenance = true;
            continue;
        }
        match check.status.as_str() {
            "passing" => {}
            "warning" => warning = true,
            "critical" => critical = true,
            _ => return HealthStatus::Unknown,
        }
    }
    if maintenance {
        HealthStatus::Maintenance
    } else if critical {
        HealthStatus::Critical
    } else if warning {
        HealthStatus::Warning
    } else {
        HealthStatus::Passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(checks: &[(&str, &str)]) -> HealthStatus {
        let checks: Vec<_> = checks
            .iter()
            .map(|(id, status)| Check {
                id: (*id).to_owned(),
                status: (*status).to_owned(),
            })
            .collect();
        aggregate(&checks)
    }

    #[test]
    fn the_worst_check_counts() {
        assert_eq!(status(&[]), HealthStatus::Passing);
        let mut checks = vec![("a", "passing")];
        assert_eq!(status(&checks), HealthStatus::Passing);
        checks.push(("b", "warning"));
        assert_eq!(status(&checks), HealthStatus::Warning);
        checks.push(("c", "critical"));
        assert_eq!(status(&checks), HealthStatus::Critical);
        checks.push(("_service_maintenance:web-1", "critical"));
        assert_eq!(status(&checks), HealthStatus::Maintenance);
        checks.push(("d", "sleeping"));
        assert_eq!(status(&checks), HealthStatus::Unknown);
    }

    #[test]
    fn a_check_that_only_resembles_maintenance_is_ordinary() {
        assert_eq!(
            status(&[("_node_maintenance2", "critical")]),
            HealthStatus::Critical
        );
        assert_eq!(
            status(&[("_node_maintenance", "critical")]),
            HealthStatus::Maintenance
        );
    }

    #[test]
    fn nulls_are_empty_and_unknown_fields_do_no_harm() {
        let body =
            br#"[{"Node":{"Node":"n","Address":"10.0.0.1","Meta":null,"TaggedAddresses":null,
            "New":{"x":1}},"Service":{"ID":"w","Service":"web","Tags":null,"Meta":null,"Port":0,
            "Weights":{"Passing":1}},"Checks":null,"Later":[]}]"#;
        let instances = decode(body).unwrap();
        assert_eq!(instances.len(), 1);
        assert_eq!(instances[0].address, "10.0.0.1");
        assert_eq!(instances[0].status, HealthStatus::Passing);
        assert!(instances[0].tags.is_empty() && instances[0].node_meta.is_empty());
        assert!(decode(b"null").unwrap().is_empty());
    }

    #[test]
    fn an_impossible_port_names_its_instance() {
        let body = br#"[{"Node":{"Node":"n"},"Service":{"ID":"w","Service":"web","Port":70000}}]"#;
        let message = decode(body).unwrap_err().to_string();
        assert!(
            message.contains("\"w\"") && message.contains("70000"),
            "{message}"
        );
    }
}
