//! Converts a health answer to instances.

mod elements;

use std::collections::BTreeMap;

use cts_core::{HealthStatus, InstanceKey, ServiceInstance, ServicePort, excerpt};
use serde::{Deserialize, Deserializer};

use crate::error::ConsulError;

const NODE_MAINTENANCE: &str = "_node_maintenance";
const SERVICE_MAINTENANCE: &str = "_service_maintenance:";
/// Characters of a complaint about an instance that are kept.
const PROBLEM_SHOWN: usize = 200;

/// Decoded body of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) instances: Vec<ServiceInstance>,
    pub(crate) unreadable: Vec<UnreadableInstance>,
}

/// An instance whose data from Consul cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableInstance {
    /// Key of the instance; `None` if the key cannot be read either.
    pub key: Option<InstanceKey>,
    /// Problem of the data, in one line.
    pub problem: String,
}

/// Decodes the instances in a body of `/v1/health/service/<name>`, in Consul's order. An element that cannot be
/// understood does no harm to the other elements of the list.
pub(crate) fn decode(body: &[u8]) -> Result<Decoded, ConsulError> {
    match serde_json::from_slice::<Vec<Entry>>(body) {
        Ok(entries) => Ok(Decoded {
            instances: entries.into_iter().map(Entry::into_instance).collect(),
            unreadable: Vec::new(),
        }),
        Err(error) => match elements::split(body) {
            Some(elements) => Ok(decode_each(&elements)),
            None => Err(ConsulError::Decode(error)),
        },
    }
}

fn decode_each(elements: &[&[u8]]) -> Decoded {
    let mut decoded = Decoded {
        instances: Vec::new(),
        unreadable: Vec::new(),
    };
    for element in elements {
        match serde_json::from_slice::<Entry>(element) {
            Ok(entry) => decoded.instances.push(entry.into_instance()),
            Err(error) => decoded.unreadable.push(UnreadableInstance {
                key: serde_json::from_slice(element).ok().map(Identity::key),
                problem: excerpt(&error.to_string(), PROBLEM_SHOWN),
            }),
        }
    }
    decoded
}

/// Identifies the instance of an element.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Identity {
    node: NodeIdentity,
    service: ServiceIdentity,
}

#[derive(Deserialize)]
struct NodeIdentity {
    #[serde(rename = "Node")]
    name: String,
}

#[derive(Deserialize)]
struct ServiceIdentity {
    #[serde(rename = "ID")]
    id: String,
}

impl Identity {
    fn key(self) -> InstanceKey {
        InstanceKey {
            node: self.node.name,
            id: self.service.id,
        }
    }
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
    ports: Vec<NamedPort>,
    #[serde(default, deserialize_with = "null_is_empty")]
    meta: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    tags: Vec<String>,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NamedPort {
    #[serde(default)]
    name: String,
    #[serde(default)]
    port: i64,
    #[serde(default)]
    default: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Check {
    #[serde(rename = "CheckID", default)]
    id: String,
    #[serde(default)]
    status: String,
}

/// Consul writes an empty list or map within an instance as `null`.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Entry {
    fn into_instance(self) -> ServiceInstance {
        let Self {
            node,
            service,
            checks,
        } = self;
        let mut tags = service.tags;
        tags.sort_unstable();
        let address = if service.address.is_empty() {
            node.address.clone()
        } else {
            service.address
        };
        let mut instance = ServiceInstance {
            id: service.id,
            name: service.name,
            kind: service.kind,
            address,
            port: service.port,
            meta: service.meta.into_iter().collect(),
            tags,
            namespace: service.namespace,
            status: aggregate(&checks),
            node: node.name,
            node_id: node.id,
            node_address: node.address,
            node_datacenter: node.datacenter,
            node_tagged_addresses: node.tagged_addresses.into_iter().collect(),
            node_meta: node.meta.into_iter().collect(),
            ports: ports(service.ports),
        };
        // Consul then has 0 as the only port.
        if let Some(default) = instance.default_port() {
            instance.port = default.port;
        }
        instance
    }
}

fn ports(ports: Vec<NamedPort>) -> Vec<ServicePort> {
    let ports = ports.into_iter().map(|port| ServicePort {
        name: port.name,
        port: port.port,
        default: port.default,
    });
    let mut ports: Vec<_> = ports.collect();
    ports.sort_unstable();
    ports
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
        let instances = decode(body).unwrap().instances;
        assert_eq!(instances.len(), 1);
        assert_eq!(instances[0].address, "10.0.0.1");
        assert_eq!(instances[0].status, HealthStatus::Passing);
        assert!(instances[0].tags.is_empty() && instances[0].node_meta.is_empty());
    }

    fn element(id: &str, rest: &str) -> String {
        format!(r#"{{"Node":{{"Node":"n"}},"Service":{{"ID":"{id}","Service":"web"{rest}}}}}"#)
    }

    #[test]
    fn a_port_is_any_number() {
        let body = format!(
            "[{},{}]",
            element("a", ",\"Port\":70000"),
            element("b", ",\"Port\":-1")
        );
        let decoded = decode(body.as_bytes()).unwrap();
        let ports: Vec<_> = decoded
            .instances
            .iter()
            .map(|instance| instance.port)
            .collect();
        assert_eq!(ports, [70_000, -1]);
        assert!(decoded.unreadable.is_empty());
    }

    #[test]
    fn the_default_of_named_ports_is_the_port() {
        let port = |name: &str, number, default| ServicePort {
            name: name.to_owned(),
            port: number,
            default,
        };
        let (admin, http) = (port("admin", 81, false), port("http", 80, true));
        let unmarked = port("http", 80, false);
        let cases = [
            // The order of Consul does not matter.
            (
                r#","Port":0,"Ports":[{"Name":"http","Port":80,"Default":true},{"Name":"admin","Port":81}]"#,
                (80, vec![admin.clone(), http.clone()]),
            ),
            (
                r#","Ports":[{"Name":"admin","Port":81,"Default":false},{"Name":"http","Port":80,"Default":true}]"#,
                (80, vec![admin.clone(), http]),
            ),
            (
                r#","Port":0,"Ports":[{"Name":"http","Port":80},{"Name":"admin","Port":81}]"#,
                (81, vec![admin, unmarked]),
            ),
            (r#","Port":7,"Ports":[]"#, (7, vec![])),
            (r#","Port":7,"Ports":null"#, (7, vec![])),
        ];
        for (rest, expected) in cases {
            let body = format!("[{}]", element("a", rest));
            let instance = decode(body.as_bytes()).unwrap().instances.pop().unwrap();
            assert_eq!((instance.port, instance.ports), expected, "{rest}");
        }
    }

    #[test]
    fn an_instance_that_cannot_be_understood_is_named_and_the_others_live() {
        let odd = [
            ",\"Ports\":[{\"Name\":1}]",
            ",\"Ports\":{}",
            ",\"Port\":\"80\"",
            ",\"Port\":1.5",
            ",\"Port\":99999999999999999999",
            ",\"Port\":1e999",
            ",\"Tags\":[1]",
            ",\"Meta\":{\"k\":{}}",
            ",\"Kind\":\"\\ud800\"",
            &format!(",\"Tags\":{}{}", "[".repeat(5000), "]".repeat(5000)),
        ];
        for rest in odd {
            let list = [element("a", ""), element("odd", rest), element("z", "")];
            let decoded = decode(format!(" [ {} ] ", list.join(" , ")).as_bytes()).unwrap();
            let ids: Vec<_> = decoded
                .instances
                .iter()
                .map(|instance| &instance.id)
                .collect();
            assert_eq!(ids, ["a", "z"]);
            let [unreadable] = &decoded.unreadable[..] else {
                panic!("{decoded:?}");
            };
            assert!(unreadable.problem.len() < 1000);
            if let Some(key) = &unreadable.key {
                assert_eq!((key.node.as_str(), key.id.as_str()), ("n", "odd"));
            } else {
                assert!(
                    rest.starts_with(",\"Tags\":[[") || rest.contains("ud800"),
                    "{rest}"
                );
            }
        }
    }

    #[test]
    fn elements_that_name_no_instance_are_unreadable_without_a_key() {
        let body = format!("[null,1,{{}},[],{}]", element("a", ""));
        let decoded = decode(body.as_bytes()).unwrap();
        assert_eq!(decoded.instances.len(), 1);
        assert_eq!(decoded.unreadable.len(), 4);
        assert!(decoded.unreadable.iter().all(|odd| odd.key.is_none()));
    }

    #[test]
    fn refuses_answers_that_are_not_one_complete_list() {
        let half = format!("[{},{{\"Node\":", element("a", ""));
        for body in [
            "",
            "null",
            "<html></html>",
            "{}",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[] x",
            "[1] x",
            "[1 2]",
            half.as_str(),
        ] {
            assert!(decode(body.as_bytes()).is_err(), "{body}");
        }
    }
}
