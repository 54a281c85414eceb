//! Remote runs that something other than cts has ended: a decision that stands
//! (docs/hcp-terraform.md#a-decision-on-the-server).

use cts_core::{Chain, RemoteRun};

use super::follow::Ended;
use super::remote_attempt::RemoteAttempt;
use crate::remote_driver::error::RemoteError;

/// Line of Terraform's log that announces an end on request.
const INTERRUPTED: &str = "Interrupt received";

/// Beginnings of lines with which a log ends whose server or agent has failed.
const FAILURES: [&str; 3] = ["Error: ", "Operation failed", "Operation errored"];

impl RemoteAttempt<'_> {
    /// The decision that ended a remote run; `None` if the run failed by itself or cts ended it. If cts requested the
    /// end, its record says so, because cts records that before the request to the server.
    pub(super) async fn decision(&self, remote: &RemoteRun, ended: &Ended) -> Option<RemoteError> {
        let status = match ended.run.status.as_str() {
            _ if remote.given_up => return None,
            "discarded" => "discarded",
            "canceled" | "force_canceled" if is_failure(ended.text()) => return None,
            "canceled" => "canceled",
            "force_canceled" => "canceled by force",
            _ => return None,
        };
        Some(RemoteError::Decided {
            status: status.to_owned(),
            person: self.person(&ended.run.id).await,
            url: remote.url.clone().unwrap_or_default(),
        })
    }

    /// The user who has ended a remote run, where the server shows that.
    async fn person(&self, id: &str) -> Option<String> {
        let asked = async { Ok::<_, RemoteError>(self.server().await?.ended_by(id).await?) };
        asked.await.unwrap_or_else(|error| {
            tracing::debug!(remote_run = id, error = %Chain(&error), "the server does not show who has ended the remote run");
            None
        })
    }
}

/// Whether the log of a cancelled run ends with an error that no cancel caused.
fn is_failure(log: &str) -> bool {
    if log.contains(INTERRUPTED) {
        return false;
    }
    let mut lines = log
        .lines()
        .map(|line| line.trim_start_matches(['│', '╷', ' ']));
    lines.any(|line| FAILURES.iter().any(|failure| line.starts_with(failure)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_after_an_error_of_the_server_is_a_failure_and_an_interrupt_is_none() {
        for (log, failure) in [
            ("", false),
            ("Terraform v1.14.3\nPlan: 1 to add\n", false),
            ("web: Refreshing\nError: the agent was lost\n", true),
            ("╷\n│ Error: no space left on device\n╵\n", true),
            ("Operation failed: the run took too long\n", true),
            (
                "Interrupt received.\nPlease wait\n╷\n│ Error: operation canceled\n╵\n",
                false,
            ),
        ] {
            assert_eq!(is_failure(log), failure, "{log}");
        }
    }
}
