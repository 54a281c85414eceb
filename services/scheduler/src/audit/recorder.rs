//! Records of the calls that change something.

use std::sync::Arc;

use cts_core::callers::{AuditAction, AuditOutcome, AuditRecord};
use cts_core::{Chain, RunTrace};
use cts_rpc::admission::CallContext;
use cts_store::Store;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};

use crate::tasks::TaskRefusal;

/// The record of a call, before its outcome is known.
pub(crate) fn record<T>(request: &Request<T>, action: AuditAction, target: &str) -> AuditRecord {
    let CallContext { caller, request_id } = CallContext::from_request(request);
    AuditRecord {
        request_id,
        trace: trace_of(request.metadata()),
        ..AuditRecord::new(caller, action, target)
    }
}

/// The trace of a call, for the run that it asks for.
fn trace_of(metadata: &MetadataMap) -> Option<RunTrace> {
    Some(RunTrace {
        parent: Some(cts_rpc::trace_context(metadata)?),
        ..RunTrace::default()
    })
}

/// Stores the outcome of a call that was not made, or has failed. The caller has its answer in any case.
pub(crate) async fn note(store: &Arc<dyn Store>, record: AuditRecord, outcome: AuditOutcome) {
    let record = record.ended(outcome);
    if let Err(error) = store.audit(std::slice::from_ref(&record)).await {
        tracing::error!(target: "access", caller = %record.caller, action = record.action.as_str(), call.target = record.target, error = %Chain(&error), "a call cannot be recorded");
    }
}

impl TaskRefusal {
    /// The outcome of the call for its record.
    pub(crate) fn outcome(&self) -> AuditOutcome {
        let text = self.to_string();
        match self {
            Self::RunFailed(_) | Self::Broken(_) | Self::Store(_) | Self::ShuttingDown => {
                AuditOutcome::Failed(text)
            }
            _ => AuditOutcome::Refused(text),
        }
    }
}

/// The outcome of a call with this status.
pub(crate) fn outcome_of(status: &Status) -> AuditOutcome {
    let text = status.message().to_owned();
    match status.code() {
        Code::Internal | Code::Unavailable | Code::Unknown => AuditOutcome::Failed(text),
        _ => AuditOutcome::Refused(text),
    }
}
