//! The client for which a change is made, for the schedulers' audit records, and the span of its request.

use cts_core::TraceContext;
use cts_core::callers::Caller;
use cts_rpc::admission::{CALLER_METADATA, CallContext};
use cts_rpc::set_trace_context;
use tonic::Request;

use crate::request_id::RequestId;

/// Names the client of a call, and the span that the call is a part of.
#[derive(Debug, Clone)]
pub(crate) struct OnBehalf {
    context: CallContext,
    trace: Option<TraceContext>,
}

impl OnBehalf {
    pub(crate) fn of(caller: Caller, id: RequestId, trace: Option<TraceContext>) -> Self {
        Self {
            context: CallContext {
                caller,
                request_id: id.to_string(),
            },
            trace,
        }
    }

    /// The request that carries `message` for this client.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert_bin(CALLER_METADATA, self.context.to_metadata());
        if let Some(trace) = self.trace {
            set_trace_context(metadata, trace);
        }
        request
    }
}
