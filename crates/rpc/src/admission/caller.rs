//! Callers of calls, for handlers and on their way from gateways.

use std::net::IpAddr;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use cts_core::callers::{Caller, CallerKind, Rights};
use cts_proto::access::v1 as proto;
use prost::Message as _;
use tonic::metadata::{BinaryMetadataValue, MetadataValue};

/// The metadata with which a gateway names the client of its call.
pub const CALLER_METADATA: &str = "cts-caller-bin";

/// gRPC leaves out the padding; both forms are to be accepted.
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The caller of a call. Every request that a server passes to a handler has the context in its extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// The caller.
    pub caller: Caller,
    /// Id of the request at the gateway; empty without one.
    pub request_id: String,
}

impl CallContext {
    /// A call without a request id.
    pub const fn of(caller: Caller) -> Self {
        Self {
            caller,
            request_id: String::new(),
        }
    }

    /// The caller of a request; an anonymous caller if no server has set one.
    pub fn from_request<T>(request: &tonic::Request<T>) -> Self {
        let context = request.extensions().get::<Self>().cloned();
        context.unwrap_or_else(|| Self::of(Caller::anonymous(None)))
    }

    /// The value of [`CALLER_METADATA`].
    pub fn to_metadata(&self) -> BinaryMetadataValue {
        MetadataValue::from_bytes(&self.to_wire().encode_to_vec())
    }

    /// The message that names the caller.
    pub fn to_wire(&self) -> proto::Caller {
        let Caller {
            kind,
            name,
            issuer,
            address,
        } = &self.caller;
        proto::Caller {
            kind: kind.as_str().to_owned(),
            name: name.clone(),
            issuer: issuer.clone(),
            address: address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            request_id: self.request_id.clone(),
        }
    }

    /// The caller that the headers of a call name; `None` if the headers name no caller or it cannot be read.
    pub(super) fn from_headers(headers: &http::HeaderMap) -> Option<Self> {
        let bytes = BINARY.decode(headers.get(CALLER_METADATA)?).ok()?;
        let message = proto::Caller::decode(bytes.as_slice()).ok()?;
        Some(Self::from_wire(&message))
    }

    /// The caller that a message names.
    pub fn from_wire(message: &proto::Caller) -> Self {
        // A kind of a later version.
        let kind = message.kind.parse().unwrap_or(CallerKind::Anonymous);
        let address: Option<IpAddr> = message.address.parse().ok();
        let caller = Caller::new(kind, &message.name, address).of_issuer(&message.issuer);
        Self {
            caller,
            request_id: message.request_id.clone(),
        }
    }
}

/// The rights of the caller of a request; all rights if no listener has checked the request.
pub fn rights<T>(request: &tonic::Request<T>) -> Rights {
    request.extensions().get().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_read_as_it_was_sent() {
        let caller = Caller::new(CallerKind::User, "alice", "10.0.0.1".parse().ok());
        let sent = CallContext {
            caller: caller.of_issuer("https://login.example"),
            request_id: "id-1".to_owned(),
        };
        let value = sent.to_metadata();
        let encoded = value.as_encoded_bytes().to_vec();
        let padding = "=".repeat((4 - encoded.len() % 4) % 4);
        for text in [
            encoded.clone(),
            [encoded.as_slice(), padding.as_bytes()].concat(),
        ] {
            let mut headers = http::HeaderMap::new();
            headers.insert(CALLER_METADATA, text.as_slice().try_into().unwrap());
            assert_eq!(CallContext::from_headers(&headers), Some(sent.clone()));
        }
    }

    #[test]
    fn missing_or_unreadable_caller_is_left_out() {
        let mut headers = http::HeaderMap::new();
        assert_eq!(CallContext::from_headers(&headers), None);
        headers.insert(CALLER_METADATA, "%%%".parse().unwrap());
        assert_eq!(CallContext::from_headers(&headers), None);
    }
}
