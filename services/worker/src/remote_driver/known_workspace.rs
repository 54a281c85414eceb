//! The workspace in which a task was applied, compared with the workspace that has its name now.
//!
//! Without the right to read states nothing else shows that a workspace was renamed or replaced: a destruction in a new,
//! empty workspace succeeds and destroys nothing, and an apply makes everything twice.

use cts_core::runs::RunKind;
use cts_core::{RemoteRun, RemoteWorkspace};
use cts_hcp_terraform::{ApiError, Server, Workspace};

use super::RemoteDriver;
use super::error::RemoteError;
use super::other_workspace::OtherWorkspace;
use super::reach::Reach;

/// The workspace in which a task was applied last, for a run of this kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownWorkspace<'a> {
    workspace: Option<&'a RemoteWorkspace>,
    kind: RunKind,
}

impl<'a> KnownWorkspace<'a> {
    /// The workspace of the newest remote run that changed something. A pending decision of an operator about the state
    /// continues with the existing workspace.
    pub(crate) fn of(newest: Option<&'a RemoteRun>, is_decided: bool, kind: RunKind) -> Self {
        let newest = newest.filter(|_| !is_decided);
        Self {
            workspace: newest.map(|newest| &newest.workspace),
            kind,
        }
    }

    /// How far the run reaches.
    pub(crate) const fn reach(self) -> Reach {
        Reach::of(self.kind)
    }
}

impl RemoteDriver {
    /// Fails if the task was applied in a different workspace of this organization than `found`.
    ///
    /// A destruction needs exactly that workspace. Other runs need it unless it is gone, or still has the name that it
    /// had: then the names of all workspaces have changed, and states are looked at.
    pub(crate) async fn require_known(
        &self,
        server: &Server,
        known: KnownWorkspace<'_>,
        found: Option<&Workspace>,
        name: &str,
    ) -> Result<(), RemoteError> {
        let KnownWorkspace { workspace, kind } = known;
        let in_place = workspace.filter(|known| !self.is_elsewhere(server, known));
        let Some(known) = in_place.filter(|it| found.is_none_or(|found| found.id != it.id)) else {
            return Ok(());
        };
        let now = match server.workspace(&known.id).await {
            Ok(workspace) => Some(workspace.attributes.name),
            Err(ApiError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let is_renamed = now.as_ref().is_some_and(|now| *now != known.name);
        let destroys = matches!(kind, RunKind::Destroy | RunKind::DestroyPlan);
        if !destroys && !is_renamed {
            return Ok(());
        }
        Err(RemoteError::OtherWorkspace(Box::new(OtherWorkspace {
            known: known.clone(),
            now,
            name: name.to_owned(),
            found: found.map(|found| found.id.clone()),
            destroys,
        })))
    }
}
