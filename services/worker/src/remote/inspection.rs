//! Remote runs that only plan: whether the plan is that of the input (docs/hcp-terraform.md#inspections).

use cts_core::RemoteRun;
use cts_hcp_terraform::{Run, RunPhase, RunVariable, Server};
use tokio::time::sleep;

use super::earlier::end_because;
use super::remote_attempt::{Given, RemoteAttempt};
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::progress::pause;
use crate::remote_driver::target_workspace::TargetWorkspace;
use crate::remote_driver::workspace::{is_disposable, tags_of};

/// For users who look at the remote run.
const IGNORED: &str = "cts: the server has ignored the values of this plan";

/// Most polls of a remote run that is to end; a run that only plans does no harm if it goes on.
const MOST_LOOKS: usize = 10;

impl RemoteAttempt<'_> {
    /// Judges a remote run that another worker requested; that worker may have died before it received the answer of
    /// the server. Returns the differences from an apply; none for a run that applies.
    pub(super) async fn resumed_notes(
        &self,
        given: &Given,
        server: &Server,
        remote: &RemoteRun,
    ) -> Result<Vec<String>, RemoteError> {
        let Some(id) = remote.id.as_ref().filter(|_| self.kind.only_plans()) else {
            return Ok(Vec::new());
        };
        let workspace = server.workspace(&remote.workspace.id).await?;
        let present = server.variables(&workspace.id).await?;
        let tags = tags_of(server, &workspace).await?;
        let target = TargetWorkspace {
            workspace_id: &workspace.id,
            present: &present,
            is_disposable: is_disposable(&tags),
        };
        let (_configuration, placement) = self.placed(given, &workspace, target).await?;
        let run = server.run(id).await?;
        let mut remote = remote.clone();
        self.require_taken(server, &mut remote, &run, &placement.of_run)
            .await?;
        Ok(placement.notes)
    }

    /// If the server has ignored the values of a run that only plans, fails and ends that run: its plan would use the
    /// values of the last apply.
    pub(super) async fn require_taken(
        &self,
        server: &Server,
        remote: &mut RemoteRun,
        run: &Run,
        variables: &[RunVariable],
    ) -> Result<(), RemoteError> {
        if run.has_taken(variables) {
            return Ok(());
        }
        let mut run = run.clone();
        for look in 0..MOST_LOOKS {
            if matches!(run.phase(), RunPhase::Ended(_)) {
                break;
            }
            end_because(server, &run, IGNORED).await?;
            sleep(pause(self.driver, look)).await;
            run = server.run(&run.id).await?;
        }
        remote.ended = matches!(run.phase(), RunPhase::Ended(_));
        self.note(remote, &run).await?;
        self.remove_disposable(&remote.workspace).await;
        let url = remote.url.clone().unwrap_or_default();
        Err(RemoteError::IgnoredValues { url })
    }
}
