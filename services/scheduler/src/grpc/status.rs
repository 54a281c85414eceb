//! The one place where errors of the scheduler become gRPC statuses. Causes are logged here, once, and
//! not sent.

use cts_core::Chain;
use cts_store::{LeaseError, StoreError};
use tonic::Status;

pub(crate) fn store_failure(error: &StoreError) -> Status {
    tracing::error!(error = %Chain(error), "request failed");
    Status::unavailable("the scheduler's database failed; see the scheduler's log")
}

pub(crate) fn lease_failure(error: LeaseError) -> Status {
    match error {
        LeaseError::Lost { .. } => Status::failed_precondition(error.to_string()),
        LeaseError::Store(error) => store_failure(&error),
    }
}
