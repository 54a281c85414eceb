//! The client for which a change is made, for the schedulers' audit records.

use cts_core::access::Caller;
use cts_rpc::access::{CALLER_METADATA, CallContext};
use tonic::Request;

use crate::transport::request_log::RequestId;

/// Names the client of a call.
#[derive(Debug, Clone)]
pub(crate) struct OnBehalf(CallContext);

impl OnBehalf {
    pub(crate) fn of(caller: Caller, id: RequestId) -> Self {
        Self(CallContext {
            caller,
            request_id: id.to_string(),
        })
    }

    /// The request that carries `message` for this client.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert_bin(CALLER_METADATA, self.0.to_metadata());
        request
    }
}
