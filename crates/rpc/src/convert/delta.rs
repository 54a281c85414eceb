//! Deltas of views.

use cts_core::{
    CatalogService, HealthStatus, InstanceKey, Item, ItemKey, KeyValue, ServiceInstance,
    ServicePort, ViewDelta, ViewId,
};
use cts_proto::watch::v1 as proto;
use prost::Message as _;

use super::macros::{same_fields, same_words};
use crate::chunk::chunks;

same_words!(HealthStatus, HealthStatus, status_to_wire, status_from_wire { Passing, Warning, Critical, Maintenance; Unknown });
same_fields!(
    CatalogService,
    CatalogService,
    service_to_wire,
    service_from_wire { name, tags }
);
same_fields!(
    KeyValue,
    KeyValue,
    pair_to_wire,
    pair_from_wire { key, value }
);
same_fields!(
    ServicePort,
    ServicePort,
    port_to_wire,
    port_from_wire {
        name,
        port,
        default
    }
);
same_fields!(
    InstanceKey,
    InstanceKey,
    key_to_wire,
    key_from_wire { node, id }
);

fn instance_to_wire(instance: &ServiceInstance) -> proto::ServiceInstance {
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
        status: status_to_wire(instance.status).into(),
        node: instance.node,
        node_id: instance.node_id,
        node_address: instance.node_address,
        node_datacenter: instance.node_datacenter,
        node_tagged_addresses: instance.node_tagged_addresses.into_iter().collect(),
        node_meta: instance.node_meta.into_iter().collect(),
        ports: instance.ports.into_iter().map(port_to_wire).collect(),
    }
}

fn instance_from_wire(instance: proto::ServiceInstance) -> ServiceInstance {
    ServiceInstance {
        status: status_from_wire(instance.status()),
        id: instance.id,
        name: instance.name,
        kind: instance.kind,
        address: instance.address,
        port: instance.port,
        meta: instance.meta.into_iter().collect(),
        tags: instance.tags,
        namespace: instance.namespace,
        node: instance.node,
        node_id: instance.node_id,
        node_address: instance.node_address,
        node_datacenter: instance.node_datacenter,
        node_tagged_addresses: instance.node_tagged_addresses.into_iter().collect(),
        node_meta: instance.node_meta.into_iter().collect(),
        ports: instance.ports.into_iter().map(port_from_wire).collect(),
    }
}

/// One item, or the key of a removed item, for the wire.
#[expect(
    clippy::large_enum_variant,
    reason = "almost all are instances, and none lives long"
)]
enum Part {
    Instance(proto::ServiceInstance),
    Service(proto::CatalogService),
    Key(proto::KeyValue),
    UnreadableKey(String),
    GoneInstance(proto::InstanceKey),
    GoneName(String),
}

impl From<&Item> for Part {
    fn from(item: &Item) -> Self {
        match item {
            Item::Instance(instance) => Self::Instance(instance_to_wire(instance)),
            Item::Service(service) => Self::Service(service_to_wire((**service).clone())),
            Item::Key(pair) => Self::Key(pair_to_wire((**pair).clone())),
            Item::UnreadableKey(key) => Self::UnreadableKey(key.as_ref().to_owned()),
        }
    }
}

impl From<&ItemKey> for Part {
    fn from(key: &ItemKey) -> Self {
        match key {
            ItemKey::Instance(key) => Self::GoneInstance(key_to_wire(key.clone())),
            ItemKey::Name(name) => Self::GoneName(name.clone()),
        }
    }
}

impl Part {
    fn size(&self) -> usize {
        match self {
            Self::Instance(instance) => instance.encoded_len(),
            Self::Service(service) => service.encoded_len(),
            Self::Key(pair) => pair.encoded_len(),
            Self::GoneInstance(key) => key.encoded_len(),
            Self::UnreadableKey(name) | Self::GoneName(name) => name.len(),
        }
    }

    fn put_into(self, delta: &mut proto::ViewDelta) {
        match self {
            Self::Instance(instance) => delta.upserts.push(instance),
            Self::Service(service) => delta.catalog_services.push(service),
            Self::Key(pair) => delta.keys.push(pair),
            Self::UnreadableKey(key) => delta.unreadable_keys.push(key),
            Self::GoneInstance(key) => delta.removals.push(key),
            Self::GoneName(name) => delta.removed_names.push(name),
        }
    }
}

/// Converts a delta for the wire, to one or more numbered messages; the last message is marked complete. `subscription`
/// is the id that the receiver gave its subscription.
pub fn delta_to_wire(
    view_id: &ViewId,
    subscription: u64,
    delta: &ViewDelta,
) -> Vec<proto::ViewDelta> {
    let trace = delta.trace.map(|trace| trace.to_string());
    let trace = trace.unwrap_or_default();
    let message = |parts: Vec<Part>| {
        let mut message = proto::ViewDelta {
            view_id: view_id.as_str().to_owned(),
            base_revision: delta.base,
            revision: delta.revision,
            subscription_id: subscription,
            traceparent: trace.clone(),
            ..Default::default()
        };
        for part in parts {
            part.put_into(&mut message);
        }
        message
    };
    let upserts = delta.upserts.iter().map(Part::from);
    let removals = delta.removals.iter().map(Part::from);
    let mut messages: Vec<_> = chunks(upserts.chain(removals), Part::size)
        .map(message)
        .collect();
    if messages.is_empty() {
        messages.push(message(Vec::new()));
    }
    for (message, number) in messages.iter_mut().zip(1..) {
        message.part_number = number;
    }
    if let Some(last) = messages.last_mut() {
        last.complete = true;
    }
    messages
}

/// Adds the content of another message of the same delta; the rest of `whole` stays.
pub fn append_part(whole: &mut proto::ViewDelta, part: proto::ViewDelta) {
    whole.upserts.extend(part.upserts);
    whole.catalog_services.extend(part.catalog_services);
    whole.keys.extend(part.keys);
    whole.unreadable_keys.extend(part.unreadable_keys);
    whole.removals.extend(part.removals);
    whole.removed_names.extend(part.removed_names);
}

/// A delta from all its messages put together: lists concatenated, the rest from any of them.
pub fn delta_from_wire(delta: proto::ViewDelta) -> ViewDelta {
    let instances = delta.upserts.into_iter();
    let instances = instances.map(|instance| Item::from(instance_from_wire(instance)));
    let services = delta.catalog_services.into_iter();
    let services = services.map(|service| Item::from(service_from_wire(service)));
    let keys = delta.keys.into_iter();
    let keys = keys.map(|pair| Item::from(pair_from_wire(pair)));
    let unreadable = delta.unreadable_keys.into_iter();
    let unreadable = unreadable.map(|key| Item::UnreadableKey(key.into()));
    let gone = delta.removals.into_iter();
    let gone = gone.map(|key| ItemKey::Instance(key_from_wire(key)));
    let gone_names = delta.removed_names.into_iter().map(ItemKey::Name);
    ViewDelta {
        base: delta.base_revision,
        revision: delta.revision,
        upserts: instances
            .chain(services)
            .chain(keys)
            .chain(unreadable)
            .collect(),
        removals: gone.chain(gone_names).collect(),
        trace: delta.traceparent.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use cts_core::{InstanceKey, Labels};

    use super::*;
    use crate::chunk::CHUNK_BYTES;

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
            ports: Vec::new(),
        }
    }

    #[test]
    fn a_large_delta_travels_in_parts_and_arrives_whole() {
        let delta = ViewDelta {
            base: Some(3),
            revision: 4,
            upserts: (0..200).map(|n| instance(n.to_string()).into()).collect(),
            removals: vec![ItemKey::Instance(InstanceKey {
                node: "n".into(),
                id: "gone".into(),
            })],
            trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
                .parse()
                .ok(),
        };
        let parts = delta_to_wire(&ViewId::new("v"), 5, &delta);
        assert!(parts.len() > 3);
        assert!(parts.iter().all(|part| part.encoded_len() < 2 << 20));
        assert_eq!(parts.iter().filter(|part| part.complete).count(), 1);
        let numbers: Vec<_> = parts.iter().map(|part| part.part_number).collect();
        let counted: Vec<_> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, counted);
        assert!(parts.iter().all(|part| part.subscription_id == 5));
        let mut whole = parts[0].clone();
        for part in &parts[1..] {
            append_part(&mut whole, part.clone());
        }
        assert_eq!(delta_from_wire(whole), delta);
    }

    #[test]
    fn names_and_keys_arrive_as_they_were_sent() {
        let service = CatalogService {
            name: "web".into(),
            tags: vec!["a".into()],
        };
        let pair = |value: String| KeyValue {
            key: "k".into(),
            value,
        };
        let long = pair("x".repeat(CHUNK_BYTES));
        for upserts in [
            vec![service.into()],
            vec![long.into(), pair("${a}".into()).into()],
            vec![
                pair("x".repeat(CHUNK_BYTES)).into(),
                Item::UnreadableKey("odd\n".into()),
                Item::UnreadableKey("y".repeat(CHUNK_BYTES).into()),
            ],
        ] {
            let delta = ViewDelta {
                base: Some(1),
                revision: 2,
                upserts,
                removals: vec![ItemKey::Name("gone".into())],
                trace: None,
            };
            let mut parts = delta_to_wire(&ViewId::new("v"), 5, &delta).into_iter();
            let mut whole = parts.next().unwrap();
            for part in parts {
                append_part(&mut whole, part);
            }
            assert_eq!(delta_from_wire(whole), delta);
        }
    }

    #[test]
    fn an_empty_snapshot_is_one_complete_message() {
        let delta = ViewDelta {
            base: None,
            revision: 1,
            upserts: vec![],
            removals: vec![],
            trace: None,
        };
        let parts = delta_to_wire(&ViewId::new("v"), 5, &delta);
        assert_eq!(parts.len(), 1);
        assert!(parts[0].complete);
    }

    #[test]
    fn named_ports_arrive_and_without_them_the_message_is_that_of_earlier_versions() {
        let plain = instance("i".into());
        let earlier = instance_to_wire(&plain).encode_to_vec();
        let named = ServiceInstance {
            ports: [("admin", -1, false), ("http", 80, true)]
                .map(|(name, port, default)| ServicePort {
                    name: name.into(),
                    port,
                    default,
                })
                .into(),
            ..plain
        };
        let wire = instance_to_wire(&named);
        let bytes = wire.encode_to_vec();
        assert_eq!(instance_from_wire(wire), named);
        // Field 16 follows all other fields, and is absent if it is empty.
        let added = bytes.strip_prefix(&earlier[..]).unwrap();
        assert_eq!(added[..2], [0x82, 0x01]);
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
