//! Waiting for a cluster that has a leader (docs/runs.md#the-connection-to-consul).

use std::time::Duration;

use crate::client::ConsulClient;
use crate::error::ConsulError;

/// Pauses between the attempts: about 62 seconds in all.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
    Duration::from_secs(32),
];

impl ConsulClient {
    /// Waits for a leader, and returns its address. Returns `Ok(None)` if the cluster had no leader to the end;
    /// a connection that fails ends the wait at once, an error status or a time-out does not.
    pub async fn wait_for_leader(&self) -> Result<Option<String>, ConsulError> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let answer = self.leader().await;
            match &answer {
                Ok(None) | Err(ConsulError::Status { .. }) => {}
                Err(ConsulError::Transport(error)) if error.is_timeout() => {}
                Ok(Some(_)) | Err(_) => return answer,
            }
            let Some(pause) = pauses.next() else {
                return answer;
            };
            let reason = match &answer {
                Ok(_) => "the cluster has no leader".to_owned(),
                Err(error) => error.report(),
            };
            tracing::warn!(retry_after = ?pause, reason, "consul is not ready");
            tokio::time::sleep(pause).await;
        }
    }
}
