//! The one place where errors of the scheduler become gRPC statuses. Causes are logged here, once, and
//! not sent.

use std::sync::Arc;

use cts_core::Chain;
use cts_store::{InOutage as _, LeaseError, StoreError};
use tonic::Status;

/// Turns errors of the store into statuses. (Both types belong to other crates, so `From` cannot be implemented.)
pub(crate) trait OrStatus<T> {
    fn or_status(self) -> Result<T, Status>;
}

impl<T> OrStatus<T> for Result<T, StoreError> {
    fn or_status(self) -> Result<T, Status> {
        self.map_err(|error| store_failure(&error))
    }
}

/// An error that several callers share.
impl<T> OrStatus<T> for Result<T, Arc<StoreError>> {
    fn or_status(self) -> Result<T, Status> {
        self.map_err(|error| store_failure(&error))
    }
}

impl<T> OrStatus<T> for Result<T, LeaseError> {
    fn or_status(self) -> Result<T, Status> {
        self.map_err(|error| match error {
            LeaseError::Lost { .. } => Status::failed_precondition(error.to_string()),
            LeaseError::Store(error) => store_failure(&error),
        })
    }
}

/// The store has failed.
pub(crate) fn store_failure(error: &StoreError) -> Status {
    cts_store::log_store_failure!(error, error, error = %Chain(error), "request failed");
    if error.is_in_outage() {
        return Status::unavailable(cts_rpc::DATABASE_UNREACHABLE);
    }
    Status::unavailable("the scheduler's database failed; see the scheduler's log")
}
