//! A call of a scheduler.

use std::time::Duration;

use cts_core::Chain;
use tonic::{Code, Status};

use crate::error::CommandError;

/// Longest time for a call; it includes finding a scheduler that lives.
const CALL: Duration = Duration::from_secs(10);

/// The answer to a call of a scheduler, or why the call failed.
pub(crate) async fn answered<T>(
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, CommandError> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(status)) if status.code() == Code::NotFound => {
            Err(CommandError::Call(status.message().to_owned()))
        }
        Ok(Err(status)) => Err(CommandError::Call(format!(
            "the scheduler did not do it: {}",
            Chain(&status)
        ))),
        Err(_elapsed) => Err(CommandError::Call(format!(
            "no scheduler has answered within {} s; name one with -scheduler, or in services.schedulers",
            CALL.as_secs()
        ))),
    }
}
