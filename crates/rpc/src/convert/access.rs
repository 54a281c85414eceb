//! Callers of the API, on their way from a gateway to a scheduler.

use cts_core::access::{Caller, CallerKind};
use cts_proto::access::v1 as proto;
use prost::Message as _;
use tonic::metadata::{MetadataMap, MetadataValue};

/// Key of the metadata with the caller (docs/access.md#services).
const CALLER: &str = "cts-caller-bin";

/// Names the caller, and the request that the call is made for.
pub fn set_caller(metadata: &mut MetadataMap, caller: &Caller, request_id: &str) {
    let message = caller_to_wire(caller, request_id);
    let value = MetadataValue::from_bytes(&message.encode_to_vec());
    metadata.insert_bin(CALLER, value);
}

/// A caller, and the request that it makes.
pub fn caller_to_wire(caller: &Caller, request_id: &str) -> proto::Caller {
    proto::Caller {
        kind: caller.kind.as_str().to_owned(),
        name: caller.name.clone(),
        issuer: caller.issuer.clone(),
        address: caller
            .address
            .map(|address| address.to_string())
            .unwrap_or_default(),
        request_id: request_id.to_owned(),
    }
}

/// The caller that the metadata names, with the id of its request; `None` without one that can be read. Whoever calls
/// this decides whether the metadata is to be trusted.
pub fn caller_of(metadata: &MetadataMap) -> Option<(Caller, String)> {
    let bytes = metadata.get_bin(CALLER)?.to_bytes().ok()?;
    let message = proto::Caller::decode(bytes).ok()?;
    let request_id = message.request_id.clone();
    Some((caller_from_wire(message)?, request_id))
}

/// A caller; `None` if it is of a kind that is not known.
pub fn caller_from_wire(message: proto::Caller) -> Option<Caller> {
    let kind: CallerKind = message.kind.parse().ok()?;
    let address = message.address.parse().ok();
    Some(Caller::new(kind, &message.name, address).of_issuer(&message.issuer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_arrives_as_it_was_sent() {
        let address = "10.0.0.1".parse().ok();
        let caller = Caller::new(CallerKind::User, "alice \u{e9}", address);
        let caller = caller.of_issuer("https://login.example");
        let mut metadata = MetadataMap::new();
        assert_eq!(caller_of(&metadata), None);
        set_caller(&mut metadata, &caller, "r-1");
        assert_eq!(caller_of(&metadata), Some((caller, "r-1".to_owned())));
    }
}
