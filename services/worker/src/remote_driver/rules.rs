//! The workspaces that cts may use (docs/hcp-terraform.md#workspaces).

use std::collections::BTreeSet;

/// The tag by which a workspace belongs to cts.
pub(crate) const OWN_TAG: &str = "source:cts";

/// The tag of a workspace that was made only for an inspection. The inspection deletes the workspace; if its worker has
/// died, the next inspection does. The first apply removes the tag.
pub(crate) const INSPECTION_TAG: &str = "cts:inspection";

/// Names of workspaces, and the tags that they have or may have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceSettings {
    /// Goes before the name of a task.
    pub prefix: String,
    /// Every workspace gets these tags.
    pub tags: Vec<String>,
    /// If not empty, a workspace needs at least one of these tags.
    pub allowed: Vec<String>,
    /// A workspace with one of these tags is refused, regardless of its other tags.
    pub denied: Vec<String>,
}

/// The properties of a workspace that decide whether cts may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceFacts {
    pub(crate) tags: BTreeSet<String>,
    /// Whether cts has made the workspace, which has neither tags nor other content yet.
    pub(crate) is_just_made: bool,
    /// Execution mode as the server names it: `remote`, `agent` or `local`.
    pub(crate) execution_mode: String,
    pub(crate) has_version_control: bool,
    pub(crate) may_queue_runs: bool,
    pub(crate) may_set_variables: bool,
}

/// Why a workspace is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WorkspaceRefusal {
    #[error(
        "the workspace exists, and is not one of cts: it does not have the tag \"{OWN_TAG}\". If cts may use it, and replace its variables and its configuration, give it this tag"
    )]
    NotOurs,
    #[error("the workspace has the tag {tag:?}, which `tags_denylist` has")]
    Denied { tag: String },
    #[error("the workspace has none of the tags in `tags_allowlist`: {}", allowed.join(", "))]
    NotAllowed { allowed: Vec<String> },
    #[error("execution mode '{mode}' not supported for CTS, use 'remote' or 'agent' instead")]
    ExecutionMode { mode: String },
    #[error("the workspace is connected to a repository of version control, which makes its runs")]
    VersionControl,
    #[error("the token has no right to queue runs in the workspace")]
    NoRuns,
    #[error("the token has no right to set variables of the workspace")]
    NoVariables,
}

impl WorkspaceSettings {
    /// Name of the workspace of a task.
    pub(crate) fn name_of(&self, task: &str) -> String {
        format!("{}{task}", self.prefix)
    }

    /// The tags that a workspace lacks.
    pub(crate) fn missing_tags(&self, present: &BTreeSet<String>) -> Vec<String> {
        let wanted: BTreeSet<&str> = std::iter::once(OWN_TAG)
            .chain(self.tags.iter().map(String::as_str))
            .collect();
        let missing = wanted.into_iter().filter(|tag| !present.contains(*tag));
        missing.map(str::to_owned).collect()
    }

    /// Whether an existing workspace may be used. Nothing in the workspace is changed before this check.
    pub(crate) fn judge(&self, workspace: &WorkspaceFacts) -> Result<(), WorkspaceRefusal> {
        let tags = &workspace.tags;
        if let Some(tag) = self.denied.iter().find(|tag| tags.contains(*tag)) {
            let tag = tag.clone();
            return Err(WorkspaceRefusal::Denied { tag });
        }
        if !tags.contains(OWN_TAG) && !workspace.is_just_made {
            return Err(WorkspaceRefusal::NotOurs);
        }
        // Tags that cts adds itself count: a workspace that cts makes has them from the start.
        let has = |tag: &String| tags.contains(tag) || self.tags.contains(tag) || tag == OWN_TAG;
        if !self.allowed.is_empty() && !self.allowed.iter().any(has) {
            let allowed = self.allowed.clone();
            return Err(WorkspaceRefusal::NotAllowed { allowed });
        }
        if !matches!(workspace.execution_mode.as_str(), "remote" | "agent") {
            let mode = workspace.execution_mode.clone();
            return Err(WorkspaceRefusal::ExecutionMode { mode });
        }
        if workspace.has_version_control {
            return Err(WorkspaceRefusal::VersionControl);
        }
        if !workspace.may_queue_runs {
            return Err(WorkspaceRefusal::NoRuns);
        }
        if !workspace.may_set_variables {
            return Err(WorkspaceRefusal::NoVariables);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> WorkspaceSettings {
        WorkspaceSettings {
            prefix: "net-".into(),
            tags: vec!["team:net".into()],
            ..WorkspaceSettings::default()
        }
    }

    fn facts(tags: &[&str]) -> WorkspaceFacts {
        WorkspaceFacts {
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            is_just_made: false,
            execution_mode: "remote".into(),
            has_version_control: false,
            may_queue_runs: true,
            may_set_variables: true,
        }
    }

    #[test]
    fn the_prefix_goes_before_the_name_as_it_is() {
        assert_eq!(settings().name_of("edge"), "net-edge");
    }

    #[test]
    fn missing_tags_are_added_and_others_stay() {
        let settings = settings();
        let missing = |tags: &[&str]| settings.missing_tags(&facts(tags).tags);
        assert_eq!(missing(&[]), [OWN_TAG, "team:net"]);
        assert_eq!(missing(&["team:net", "mine"]), [OWN_TAG]);
        assert!(missing(&["team:net", OWN_TAG]).is_empty());
    }

    #[test]
    fn only_a_workspace_with_the_tag_of_cts_is_used() {
        let settings = settings();
        assert_eq!(settings.judge(&facts(&[OWN_TAG])), Ok(()));
        for tags in [&[][..], &["source:tfe"], &["team:net"]] {
            assert_eq!(settings.judge(&facts(tags)), Err(WorkspaceRefusal::NotOurs));
        }
        let just_made = WorkspaceFacts {
            is_just_made: true,
            ..facts(&[])
        };
        assert_eq!(settings.judge(&just_made), Ok(()));
    }

    #[test]
    fn the_deny_list_beats_the_allow_list() {
        let settings = WorkspaceSettings {
            allowed: vec!["a".into(), "b".into()],
            denied: vec!["d".into()],
            ..settings()
        };
        assert_eq!(settings.judge(&facts(&[OWN_TAG, "b"])), Ok(()));
        let refused = settings.judge(&facts(&[OWN_TAG, "c"])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the workspace has none of the tags in `tags_allowlist`: a, b"
        );
        let refused = settings.judge(&facts(&[OWN_TAG, "a", "d"]));
        assert_eq!(refused, Err(WorkspaceRefusal::Denied { tag: "d".into() }));
        let own = WorkspaceSettings {
            allowed: vec!["team:net".into()],
            ..settings
        };
        assert_eq!(own.judge(&facts(&[OWN_TAG])), Ok(()));
    }

    #[test]
    fn modes_repositories_and_missing_rights_are_refused() {
        let settings = settings();
        let with = |change: fn(&mut WorkspaceFacts)| {
            let mut facts = facts(&[OWN_TAG]);
            change(&mut facts);
            settings.judge(&facts).unwrap_err().to_string()
        };
        assert_eq!(
            with(|facts| facts.execution_mode = "local".into()),
            "execution mode 'local' not supported for CTS, use 'remote' or 'agent' instead"
        );
        assert!(with(|facts| facts.has_version_control = true).contains("version control"));
        assert!(with(|facts| facts.may_queue_runs = false).contains("queue runs"));
        assert!(with(|facts| facts.may_set_variables = false).contains("set variables"));
    }
}
