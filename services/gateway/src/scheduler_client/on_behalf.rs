//! The client for which a change is made, for the schedulers' audit records.

use cts_core::access::Caller;
use cts_rpc::convert::set_caller;
use tonic::Request;

use crate::transport::request_log::RequestId;

/// Names the client of a call.
#[derive(Debug, Clone)]
pub(crate) struct OnBehalf {
    caller: Caller,
    id: RequestId,
}

impl OnBehalf {
    pub(crate) const fn of(caller: Caller, id: RequestId) -> Self {
        Self { caller, id }
    }

    /// The request that carries `message` for this client.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        set_caller(request.metadata_mut(), &self.caller, &self.id.to_string());
        request
    }
}
