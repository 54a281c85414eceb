//! A remote run of an earlier run of the task, or for an earlier input of the same run, that has not ended, because its
//! worker was gone (docs/hcp-terraform.md#the-life-of-a-run).

use cts_core::{RemoteRun, TaskRemoteRun};
use cts_hcp_terraform::{ApiError, Run, RunPhase, Server};
use tokio::time::sleep;

use super::begin::{find, key};
use super::remote_attempt::RemoteAttempt;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::progress::pause;

/// For users who look at the remote run.
pub(super) const REPLACED: &str = "cts: a newer input takes its place";

/// Reason of the wait, for people.
const WAITS: &str =
    "the end of this remote run, which was begun for an earlier input or run of the task";

impl RemoteAttempt<'_> {
    /// Ends an earlier remote run of the task: discards or cancels the run if its apply has not begun, and waits for it
    /// otherwise. Runs of other users are left alone: the server queues the new run after them.
    ///
    /// Until then the earlier remote run is recorded as a given-up remote run of this run, so that users see it and the
    /// next worker continues with it. `number` counts the remote runs of this run. If the attempt has to wait, its turn
    /// to begin is given back.
    pub(super) async fn end_earlier(
        &self,
        server: &Server,
        earlier: Option<&TaskRemoteRun>,
        number: u32,
    ) -> Result<(), RemoteError> {
        let Some(TaskRemoteRun {
            run,
            remote: earlier,
        }) = earlier.filter(|earlier| !earlier.remote.ended)
        else {
            return Ok(());
        };
        if self.driver.is_elsewhere(server, &earlier.workspace) {
            return Ok(());
        }
        let id = if let Some(id) = &earlier.id {
            Some(id.clone())
        } else {
            // Its worker has not learned the answer of the server.
            let key = key(*run, earlier.number);
            let found = find(server, &earlier.workspace.id, &key);
            found.await?.map(|run| run.id)
        };
        let Some(id) = &id else {
            return Ok(());
        };
        let mut shown = RemoteRun {
            number,
            given_up: true,
            waiting_for: Some(WAITS.to_owned()),
            status: String::new(),
            ..earlier.clone()
        };
        let mut looks = 0;
        loop {
            let run = match server.run(id).await {
                Ok(run) => run,
                Err(ApiError::NotFound(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if matches!(run.phase(), RunPhase::Ended(_)) {
                shown.ended = true;
                shown.waiting_for = None;
                return self.note(&mut shown, &run).await;
            }
            if looks == 0 {
                tracing::info!(
                    task_name = self.run.lease.task_name,
                    remote_run = id,
                    status = run.status.as_str(),
                    "an earlier remote run of the task has not ended"
                );
                self.say(&format!(
                    "an earlier run of the task is {}: {id}",
                    run.status.as_str()
                ));
            }
            if run.status.as_str() != shown.status {
                self.note(&mut shown, &run).await?;
            }
            end(server, &run).await?;
            self.start_permit.release();
            sleep(pause(self.driver, looks)).await;
            looks += 1;
        }
    }
}

/// Ends a run that a newer run replaces.
pub(super) async fn end(server: &Server, run: &Run) -> Result<(), ApiError> {
    end_because(server, run, REPLACED).await
}

/// Discards or cancels a run that has not begun to apply. A refusal means that the run continues, or has ended.
pub(super) async fn end_because(server: &Server, run: &Run, reason: &str) -> Result<(), ApiError> {
    let ended = if run.actions.is_discardable {
        server.discard_run(&run.id, reason).await
    } else if run.actions.is_cancelable && run.phase() != RunPhase::Applying {
        server.cancel_run(&run.id, reason).await
    } else {
        Ok(())
    };
    match ended {
        Err(ApiError::Conflict(_) | ApiError::OutcomeUnknown { .. }) => Ok(()),
        ended => ended,
    }
}
