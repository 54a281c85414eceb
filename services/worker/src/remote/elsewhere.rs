//! Records of remote runs in a place that is no longer configured.

use cts_core::{RemoteRun, RemoteRuns, TaskRemoteRun};
use cts_hcp_terraform::Server;

use super::remote_attempt::RemoteAttempt;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::other_workspace::page_in;

impl RemoteAttempt<'_> {
    /// Whether a remote run is in the workspace that the configuration gives to the task.
    pub(super) fn is_in_place(&self, server: &Server, remote: &RemoteRun) -> bool {
        let workspace = &remote.workspace;
        let name = self.driver.settings.workspaces.name_of(self.task.as_str());
        !self.driver.is_elsewhere(server, workspace) && workspace.name == name
    }

    /// Fails if a remote run that may still change something is on another server or in another organization: the run
    /// can neither be followed nor ended. Its record is given up before, so that the next run is not concerned.
    pub(super) async fn refuse_elsewhere(
        &self,
        server: &Server,
        known: &RemoteRuns,
    ) -> Result<(), RemoteError> {
        if !self.kind.changes_resources() {
            return Ok(());
        }
        let number = known.own.as_ref().map_or(0, |own| own.number);
        let newest = known.newest.as_ref();
        let newest = newest.map(|TaskRemoteRun { remote, .. }| remote);
        let mut recorded = known.own.iter().chain(newest);
        let open = recorded
            .find(|remote| remote.is_open() && self.driver.is_elsewhere(server, &remote.workspace));
        let Some(remote) = open else { return Ok(()) };
        let url = remote.url.clone();
        let url = url.unwrap_or_else(|| page_in(&remote.workspace));
        let abandoned = RemoteRun {
            number,
            given_up: true,
            abandoned: true,
            waiting_for: None,
            ..remote.clone()
        };
        self.record(&abandoned).await?;
        Err(RemoteError::Elsewhere { url })
    }
}
