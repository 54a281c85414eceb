//! The error that names both workspaces of a task.

use cts_core::RemoteWorkspace;

/// Page of a workspace that is recorded.
pub(crate) fn page_in(workspace: &RemoteWorkspace) -> String {
    let RemoteWorkspace {
        hostname,
        organization,
        name,
        ..
    } = workspace;
    page(hostname, organization, name)
}

pub(super) fn page(host: &str, organization: &str, workspace: &str) -> String {
    format!("https://{host}/app/{organization}/workspaces/{workspace}")
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
    pub(super) known: RemoteWorkspace,
    /// The present name of the known workspace; `None` if it is gone, or hidden from the token.
    pub(super) now: Option<String>,
    /// The name that the workspace of the task must have.
    pub(super) name: String,
    /// Id of the workspace with that name.
    pub(super) found: Option<String>,
    pub(super) destroys: bool,
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
