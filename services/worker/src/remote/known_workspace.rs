//! The workspace in which a task was applied, compared with the workspace that has its name now.
//!
//! Without the right to read states nothing else shows that a workspace was renamed or replaced: a destruction in a new,
//! empty workspace succeeds and destroys nothing, and an apply makes everything twice.

use cts_core::runs::RunKind;
use cts_core::{RemoteRun, RemoteWorkspace};
use cts_hcp_terraform::{ApiError, Server, Workspace};

use super::RemoteDriver;
use super::error::RemoteError;
use super::reach::Reach;
use super::workspace::page_in;

/// The workspace in which a task was applied last, for a run of this kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownWorkspace<'a> {
    workspace: Option<&'a RemoteWorkspace>,
    kind: RunKind,
}

impl<'a> KnownWorkspace<'a> {
    /// The workspace of the newest remote run that changed something. A pending decision of an operator about the state
    /// continues with the existing workspace.
    pub(super) fn of(newest: Option<&'a RemoteRun>, is_decided: bool, kind: RunKind) -> Self {
        let newest = newest.filter(|_| !is_decided);
        Self {
            workspace: newest.map(|newest| &newest.workspace),
            kind,
        }
    }

    /// How far the run reaches.
    pub(super) const fn reach(self) -> Reach {
        Reach::of(self.kind)
    }
}

impl RemoteDriver {
    /// Fails if the task was applied in a different workspace of this organization than `found`.
    ///
    /// A destruction needs exactly that workspace. Other runs need it unless it is gone, or still has the name that it
    /// had: then the names of all workspaces have changed, and states are looked at.
    pub(super) async fn require_known(
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

/// The task was applied in another workspace than the one that has its name.
#[derive(Debug, thiserror::Error)]
#[error(
    "the task was applied in the workspace {} of the organization {}, {}; {}\nNothing was {} and nothing was made. {}",
    known.id,
    known.organization,
    self.whereabouts(),
    self.instead(),
    if *destroys { "destroyed" } else { "applied" },
    self.advice()
)]
pub(crate) struct OtherWorkspace {
    known: RemoteWorkspace,
    /// The present name of the known workspace; `None` if it is gone, or hidden from the token.
    now: Option<String>,
    /// The name that the workspace of the task must have.
    name: String,
    /// Id of the workspace with that name.
    found: Option<String>,
    destroys: bool,
}

impl OtherWorkspace {
    fn whereabouts(&self) -> String {
        let page = |name: &str| {
            page_in(&RemoteWorkspace {
                name: name.to_owned(),
                ..self.known.clone()
            })
        };
        match &self.now {
            Some(now) => format!("which is named {now} now ({})", page(now)),
            None => format!(
                "which was named {} and is not there any more, or hidden from the token",
                self.known.name
            ),
        }
    }

    fn instead(&self) -> String {
        let name = &self.name;
        match &self.found {
            Some(id) => format!("the name {name} has the workspace {id}"),
            None => format!("no workspace that the token can see has the name {name}"),
        }
    }

    fn advice(&self) -> String {
        let Self { known, name, .. } = self;
        let step = match &self.now {
            Some(_) => format!(
                "Give the workspace {} the name {name} on the server",
                known.id
            ),
            None => format!(
                "If the workspace {} exists, let the token see it under the name {name}",
                known.id
            ),
        };
        if self.destroys {
            format!(
                "{step}: then the destruction goes on. `cts task delete -retain` deletes the task and leaves its infrastructure"
            )
        } else {
            format!("{step}, then run the task again")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(now: Option<&str>, found: Option<&str>, destroys: bool) -> String {
        let known = RemoteWorkspace {
            hostname: "h".to_owned(),
            organization: "acme".to_owned(),
            name: "cts-edge".to_owned(),
            id: "ws-1".to_owned(),
            project: None,
        };
        let other = OtherWorkspace {
            known,
            now: now.map(str::to_owned),
            name: "cts-edge".to_owned(),
            found: found.map(str::to_owned),
            destroys,
        };
        other.to_string()
    }

    #[test]
    fn the_error_names_both_workspaces_and_the_ways_out() {
        let renamed = other(Some("kept"), Some("ws-2"), true);
        for part in [
            "workspace ws-1 of the organization acme, which is named kept now (https://h/app/acme/workspaces/kept)",
            "the name cts-edge has the workspace ws-2",
            "Nothing was destroyed",
            "Give the workspace ws-1 the name cts-edge",
            "-retain",
        ] {
            assert!(renamed.contains(part), "{renamed}");
        }
        let gone = other(None, None, false);
        for part in [
            "is not there any more, or hidden",
            "no workspace that",
            "Nothing was applied",
        ] {
            assert!(gone.contains(part), "{gone}");
        }
        assert!(!gone.contains("-retain"), "{gone}");
    }
}
