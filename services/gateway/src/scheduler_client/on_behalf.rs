//! The client for which a change is made, for the schedulers' audit records.

use cts_core::access::Caller;
use cts_proto::access::v1 as proto;
use prost::Message as _;
use tonic::Request;
use tonic::metadata::{BinaryMetadataValue, MetadataValue};

use crate::transport::request_log::RequestId;

/// The metadata with a `cts.access.v1.Caller`.
const METADATA: &str = "cts-caller-bin";

/// Names the client of a call.
#[derive(Debug, Clone)]
pub(crate) struct OnBehalf(BinaryMetadataValue);

impl OnBehalf {
    pub(crate) fn of(caller: &Caller, id: RequestId) -> Self {
        let caller = caller_to_wire(caller, &id.to_string());
        Self(MetadataValue::from_bytes(&caller.encode_to_vec()))
    }

    /// The request that carries `message` for this client.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert_bin(METADATA, self.0.clone());
        request
    }
}

/// A caller of the request with this id.
pub(crate) fn caller_to_wire(caller: &Caller, request_id: &str) -> proto::Caller {
    let address = caller.address.map(|address| address.to_canonical());
    proto::Caller {
        kind: caller.kind.as_str().to_owned(),
        name: caller.name.clone(),
        issuer: caller.issuer.clone(),
        address: address.map_or_else(String::new, |address| address.to_string()),
        request_id: request_id.to_owned(),
    }
}
