//! Views and what is seen of them.

use std::sync::Arc;

use cts_core::{HealthStatus, InstanceKey, ServiceInstance, ServiceView, ViewDelta, ViewId};
use cts_proto::watch::v1 as proto;

use super::ConversionError;
use crate::chunk::chunks;

/// A view for the wire.
pub fn view_to_wire(view: ServiceView) -> proto::ServiceView {
    let ServiceView {
        name,
        datacenter,
        namespace,
        filter,
    } = view;
    proto::ServiceView {
        name,
        datacenter,
        namespace,
        filter,
    }
}

/// A view from the wire; a view without a name cannot be watched.
pub fn view_from_wire(view: proto::ServiceView) -> Result<ServiceView, ConversionError> {
    let proto::ServiceView {
        name,
        datacenter,
        namespace,
        filter,
    } = view;
    if name.is_empty() {
        return Err(ConversionError::Missing {
            field: "ServiceView.name",
        });
    }
    Ok(ServiceView {
        name,
        datacenter,
        namespace,
        filter,
    })
}

/// An instance for the wire.
pub fn instance_to_wire(instance: &ServiceInstance) -> proto::ServiceInstance {
    let status = match instance.status {
        HealthStatus::Passing => proto::HealthStatus::Passing,
        HealthStatus::Warning => proto::HealthStatus::Warning,
        HealthStatus::Critical => proto::HealthStatus::Critical,
        HealthStatus::Maintenance => proto::HealthStatus::Maintenance,
        HealthStatus::Unknown => proto::HealthStatus::Unspecified,
    };
    let instance = instance.clone();
    proto::ServiceInstance {
        id: instance.id,
        name: instance.name,
        kind: instance.kind,
        address: instance.address,
        port: instance.port,
        meta: instance.meta.into_iter().collect(),
        tags: instance.tags,
        namespace: instance.namespace,
        status: status.into(),
        node: instance.node,
        node_id: instance.node_id,
        node_address: instance.node_address,
        node_datacenter: instance.node_datacenter,
        node_tagged_addresses: instance.node_tagged_addresses.into_iter().collect(),
        node_meta: instance.node_meta.into_iter().collect(),
    }
}

/// An instance from the wire.
pub fn instance_from_wire(instance: proto::ServiceInstance) -> ServiceInstance {
    let status = match instance.status() {
        proto::HealthStatus::Passing => HealthStatus::Passing,
        proto::HealthStatus::Warning => HealthStatus::Warning,
        proto::HealthStatus::Critical => HealthStatus::Critical,
        proto::HealthStatus::Maintenance => HealthStatus::Maintenance,
        proto::HealthStatus::Unspecified => HealthStatus::Unknown,
    };
    ServiceInstance {
        id: instance.id,
        name: instance.name,
        kind: instance.kind,
        address: instance.address,
        port: instance.port,
        meta: instance.meta.into_iter().collect(),
        tags: instance.tags,
        namespace: instance.namespace,
        status,
        node: instance.node,
        node_id: instance.node_id,
        node_address: instance.node_address,
        node_datacenter: instance.node_datacenter,
        node_tagged_addresses: instance.node_tagged_addresses.into_iter().collect(),
        node_meta: instance.node_meta.into_iter().collect(),
    }
}

/// A delta for the wire, as one or more numbered messages of which the last is marked complete.
/// `subscription` is the id that the receiver gave its subscription.
pub fn delta_to_wire(
    view_id: &ViewId,
    subscription: u64,
    delta: &ViewDelta,
) -> Vec<proto::ViewDelta> {
    let part = |upserts, removals| proto::ViewDelta {
        view_id: view_id.as_str().to_owned(),
        base_revision: delta.base,
        revision: delta.revision,
        upserts,
        removals,
        complete: false,
        subscription_id: subscription,
        part_number: 0,
    };
    let upserts = delta
        .upserts
        .iter()
        .map(|instance| instance_to_wire(instance));
    let removals = delta.removals.iter().map(|key| proto::InstanceKey {
        node: key.node.clone(),
        id: key.id.clone(),
    });
    let mut parts: Vec<_> = chunks(upserts, prost_size)
        .map(|upserts| part(upserts, Vec::new()))
        .chain(chunks(removals, prost_size).map(|removals| part(Vec::new(), removals)))
        .collect();
    match parts.last_mut() {
        Some(last) => last.complete = true,
        None => parts.push(proto::ViewDelta {
            complete: true,
            ..part(Vec::new(), Vec::new())
        }),
    }
    for (part, number) in parts.iter_mut().zip(1..) {
        part.part_number = number;
    }
    parts
}

fn prost_size(message: &impl prost::Message) -> usize {
    message.encoded_len()
}

/// A delta from all its messages put together: lists concatenated, the rest from any of them.
pub fn delta_from_wire(delta: proto::ViewDelta) -> ViewDelta {
    let upserts = delta
        .upserts
        .into_iter()
        .map(|instance| Arc::new(instance_from_wire(instance)))
        .collect();
    let removals = delta
        .removals
        .into_iter()
        .map(|key| InstanceKey {
            node: key.node,
            id: key.id,
        })
        .collect();
    ViewDelta {
        base: delta.base_revision,
        revision: delta.revision,
        upserts,
        removals,
    }
}

#[cfg(test)]
mod tests {
    use cts_core::Labels;

    use super::*;

    fn instance(id: String) -> ServiceInstance {
        ServiceInstance {
            id,
            name: "web".into(),
            kind: String::new(),
            address: "10.0.0.1".into(),
            port: 80,
            meta: Labels::from_iter([("k".into(), "v\n${x}".repeat(8000))]),
            tags: vec!["a".into()],
            namespace: "ns".into(),
            status: HealthStatus::Maintenance,
            node: "n".into(),
            node_id: "i".into(),
            node_address: "10.0.0.1".into(),
            node_datacenter: "dc1".into(),
            node_tagged_addresses: Labels::default(),
            node_meta: Labels::from_iter([("rack".into(), "r".into())]),
        }
    }

    #[test]
    fn a_large_delta_travels_in_parts_and_arrives_whole() {
        let delta = ViewDelta {
            base: Some(3),
            revision: 4,
            upserts: (0..200)
                .map(|n| Arc::new(instance(n.to_string())))
                .collect(),
            removals: vec![InstanceKey {
                node: "n".into(),
                id: "gone".into(),
            }],
        };
        let parts = delta_to_wire(&ViewId::new("v"), 5, &delta);
        assert!(parts.len() > 3);
        assert!(parts.iter().all(|part| prost_size(part) < 2 << 20));
        assert_eq!(parts.iter().filter(|part| part.complete).count(), 1);
        let numbers: Vec<_> = parts.iter().map(|part| part.part_number).collect();
        let counted: Vec<_> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, counted);
        assert!(parts.iter().all(|part| part.subscription_id == 5));
        let mut whole = parts[0].clone();
        for part in &parts[1..] {
            whole.upserts.extend(part.upserts.iter().cloned());
            whole.removals.extend(part.removals.iter().cloned());
        }
        assert_eq!(delta_from_wire(whole), delta);
    }

    #[test]
    fn an_empty_snapshot_is_one_complete_message() {
        let delta = ViewDelta {
            base: None,
            revision: 1,
            upserts: vec![],
            removals: vec![],
        };
        let parts = delta_to_wire(&ViewId::new("v"), 5, &delta);
        assert_eq!(parts.len(), 1);
        assert!(parts[0].complete);
    }

    #[test]
    fn any_number_may_be_a_port() {
        for port in [0, 80, 70_000, -1, i64::MIN] {
            let instance = ServiceInstance {
                port,
                ..instance("i".into())
            };
            let wire = instance_to_wire(&instance);
            assert_eq!(instance_from_wire(wire), instance);
        }
    }
}
