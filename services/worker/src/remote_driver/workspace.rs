//! The workspace of a task: found or made, and brought into step with its settings
//! (docs/hcp-terraform.md#workspaces).

use std::collections::BTreeSet;

use cts_core::{CloudExecution, CloudWorkspace, RemoteWorkspace, TaskDefinition};
use cts_hcp_terraform::{ApiError, Server, Workspace, WorkspaceDraft};

use super::RemoteDriver;
use super::error::RemoteError;
use super::known_workspace::KnownWorkspace;
use super::other_workspace::page;
use super::reach::Reach;
use super::rules::{INSPECTION_TAG, WorkspaceFacts};
use super::version::version_to_set;

/// The program that made a workspace, for people.
const SOURCE_NAME: &str = "cts";

/// The workspace of an attempt.
#[derive(Debug)]
pub(crate) struct Reconciled {
    pub(crate) workspace: Workspace,
    pub(crate) place: RemoteWorkspace,
    /// Whether the workspace was made only for an inspection, by this attempt or by an earlier attempt.
    pub(crate) is_disposable: bool,
    /// Differences between a plan in this workspace and an apply.
    pub(crate) notes: Vec<String>,
}

impl RemoteDriver {
    /// Whether a workspace is on a different server, or in a different organization, than configured.
    pub(crate) fn is_elsewhere(&self, server: &Server, workspace: &RemoteWorkspace) -> bool {
        workspace.hostname != host_of(server)
            || workspace.organization != self.settings.organization
    }

    /// Finds or makes the workspace of a task, unless the task was applied in a different workspace. In an existing
    /// workspace only settings of the task are changed, and nothing if cts may not use the workspace. A run that only
    /// plans changes nothing in an existing workspace; if it makes a workspace, that workspace is disposable.
    ///
    /// # Cancellation
    /// May be dropped at any time, and called again.
    pub(crate) async fn reconcile(
        &self,
        server: &Server,
        definition: &TaskDefinition,
        known: KnownWorkspace<'_>,
    ) -> Result<Reconciled, RemoteError> {
        let reach = known.reach();
        let wanted = definition.workspace.clone().unwrap_or_default();
        let mode = self.execution(server, &wanted.execution).await?;
        let found = self.usable(server, definition).await?;
        let name = self.settings.workspaces.name_of(definition.name.as_str());
        let workspace = found.as_ref().map(|(workspace, _tags)| workspace);
        self.require_known(server, known, workspace, &name).await?;
        let is_new = found
            .as_ref()
            .is_none_or(|(workspace, tags)| is_just_made(workspace, tags));
        let (workspace, tags) = match found {
            Some(found) => found,
            None => self.make(server, definition, &mode, reach).await?,
        };
        let is_disposable = is_disposable(&tags) || is_new && !reach.changes();
        if is_disposable && reach.changes() {
            // From here on the workspace has to stay.
            server.remove_tags(&workspace.id, &[INSPECTION_TAG]).await?;
        }
        let difference = self.difference(server, &workspace, mode, &wanted)?;
        let mut notes = Vec::new();
        let workspace = match difference {
            Some(draft) if reach.changes() || is_disposable => {
                self.update(server, &workspace, &draft, &wanted).await?
            }
            difference => {
                notes.extend(difference.as_ref().map(note));
                workspace
            }
        };
        if reach.changes() || is_disposable {
            self.add_tags(server, &workspace.id, &tags, reach).await?;
        }
        Ok(Reconciled {
            place: self.place_of(server, &workspace),
            workspace,
            is_disposable: is_disposable && !reach.changes(),
            notes,
        })
    }

    /// The workspace of a task with its tags, if it exists. Nothing in the workspace is changed.
    pub(crate) async fn usable(
        &self,
        server: &Server,
        definition: &TaskDefinition,
    ) -> Result<Option<(Workspace, BTreeSet<String>)>, RemoteError> {
        let settings = &self.settings;
        let name = settings.workspaces.name_of(definition.name.as_str());
        let found = server
            .workspace_named(&settings.organization, &name)
            .await?;
        let Some(workspace) = found else {
            return Ok(None);
        };
        let facts = facts(&workspace, tags_of(server, &workspace).await?);
        let judged = settings.workspaces.judge(&facts);
        judged.map_err(|refusal| RemoteError::Workspace {
            place: self.named(server, &workspace.name),
            refusal,
        })?;
        Ok(Some((workspace, facts.tags)))
    }

    async fn make(
        &self,
        server: &Server,
        definition: &TaskDefinition,
        (mode, pool): &(&'static str, Option<String>),
        reach: Reach,
    ) -> Result<(Workspace, BTreeSet<String>), RemoteError> {
        let settings = &self.settings;
        let name = settings.workspaces.name_of(definition.name.as_str());
        let wanted = definition.workspace.as_ref();
        let draft = WorkspaceDraft {
            name: Some(name.clone()),
            description: Some(definition.description.clone()),
            execution_mode: Some(mode),
            agent_pool_id: pool.clone(),
            auto_apply: Some(true),
            queue_all_runs: Some(false),
            terraform_version: wanted.and_then(|wanted| wanted.terraform_version.clone()),
            structured_run_output_enabled: Some(false),
            source_name: Some(SOURCE_NAME.to_owned()),
            // The request itself sets the tags: without its tag, the workspace would not count as made by cts.
            tags: self.missing_tags(&BTreeSet::new(), reach),
            ..WorkspaceDraft::default()
        };
        let workspace = self.create(server, &name, &draft).await?;
        let tags = workspace.tag_names.iter().cloned().collect();
        Ok((workspace, tags))
    }

    /// The workspace as records and people name it.
    fn place_of(&self, server: &Server, workspace: &Workspace) -> RemoteWorkspace {
        RemoteWorkspace {
            hostname: host_of(server),
            organization: self.settings.organization.clone(),
            name: workspace.name.clone(),
            id: workspace.id.clone(),
            project: workspace.relationships.project.id().map(str::to_owned),
        }
    }

    /// Mode and pool in which the runs of a task happen.
    pub(crate) async fn execution(
        &self,
        server: &Server,
        execution: &CloudExecution,
    ) -> Result<(&'static str, Option<String>), RemoteError> {
        Ok(match execution {
            CloudExecution::Remote => ("remote", None),
            CloudExecution::AgentPoolId(id) => ("agent", Some(id.clone())),
            CloudExecution::AgentPoolName(name) => {
                let organization = &self.settings.organization;
                let pool = server.agent_pool(organization, name).await?;
                let pool = pool.ok_or_else(|| RemoteError::NoPool {
                    name: name.clone(),
                    organization: organization.clone(),
                })?;
                ("agent", Some(pool.id))
            }
        })
    }

    async fn create(
        &self,
        server: &Server,
        name: &str,
        draft: &WorkspaceDraft,
    ) -> Result<Workspace, RemoteError> {
        let organization = &self.settings.organization;
        match server.create_workspace(organization, draft).await {
            Ok(workspace) => {
                tracing::info!(workspace = name, organization, "the workspace was made");
                Ok(workspace)
            }
            Err(ApiError::NotFound(_) | ApiError::Forbidden(_)) => Err(RemoteError::Organization {
                organization: organization.clone(),
            }),
            Err(ApiError::Invalid(refusal)) if says_taken(&refusal) => Err(RemoteError::Hidden {
                place: self.named(server, name),
            }),
            Err(error @ ApiError::Invalid(_)) if draft.terraform_version.is_some() => {
                Err(RemoteError::RefusedVersion {
                    place: self.named(server, name),
                    version: draft.terraform_version.clone().unwrap_or_default(),
                    error: Box::new(error),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the settings of a workspace. Warns if that replaces its version of Terraform although the task names no
    /// version.
    async fn update(
        &self,
        server: &Server,
        workspace: &Workspace,
        draft: &WorkspaceDraft,
        wanted: &CloudWorkspace,
    ) -> Result<Workspace, RemoteError> {
        let before = workspace.terraform_version.as_deref().unwrap_or_default();
        let updated = server.update_workspace(&workspace.id, draft).await;
        let updated = updated.map_err(|error| match (error, &draft.terraform_version) {
            (error @ ApiError::Invalid(_), Some(version)) => RemoteError::RefusedVersion {
                place: self.named(server, &workspace.name),
                version: format!("{version} in place of {before}"),
                error: Box::new(error),
            },
            (error, _) => error.into(),
        })?;
        if let (None, Some(version)) = (&wanted.terraform_version, &draft.terraform_version) {
            tracing::warn!(
                workspace = workspace.name,
                before,
                version,
                "cts does not support the workspace's version of Terraform, and has set the nearest one that it does"
            );
        }
        Ok(updated)
    }

    /// The settings of a task that the workspace has otherwise.
    pub(crate) fn difference(
        &self,
        server: &Server,
        workspace: &Workspace,
        (mode, pool): (&'static str, Option<String>),
        wanted: &CloudWorkspace,
    ) -> Result<Option<WorkspaceDraft>, RemoteError> {
        let current = workspace.terraform_version.as_deref().unwrap_or_default();
        let version = version_to_set(
            wanted.terraform_version.as_deref(),
            wanted.auto_upgrade_tf_version,
            current,
        );
        let version = version.map_err(|version| RemoteError::Version {
            place: self.named(server, &workspace.name),
            version,
        })?;
        let has_mode =
            workspace.execution_mode() == mode && workspace.agent_pool_id() == pool.as_deref();
        if version.is_none() && has_mode && workspace.working_directory.is_empty() {
            return Ok(None);
        }
        Ok(Some(WorkspaceDraft {
            execution_mode: (!has_mode).then_some(mode),
            agent_pool_id: pool.filter(|_pool| !has_mode),
            terraform_version: version,
            // Archives have the root module at their root.
            working_directory: (!workspace.working_directory.is_empty()).then(String::new),
            ..WorkspaceDraft::default()
        }))
    }

    /// Tags that a workspace lacks. A workspace that is made for an inspection has an additional tag.
    fn missing_tags(&self, present: &BTreeSet<String>, reach: Reach) -> Vec<String> {
        let mut missing = self.settings.workspaces.missing_tags(present);
        if !reach.changes() && !is_disposable(present) {
            missing.push(INSPECTION_TAG.to_owned());
        }
        missing
    }

    async fn add_tags(
        &self,
        server: &Server,
        workspace_id: &str,
        present: &BTreeSet<String>,
        reach: Reach,
    ) -> Result<(), RemoteError> {
        let missing = self.missing_tags(present, reach);
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        Ok(server.add_tags(workspace_id, &missing).await?)
    }

    /// A workspace in an error, with the address of its page.
    fn named(&self, server: &Server, name: &str) -> String {
        format!("workspace {name} ({})", self.page_of(server, name))
    }

    /// Page of a workspace.
    fn page_of(&self, server: &Server, name: &str) -> String {
        page(&host_of(server), &self.settings.organization, name)
    }
}

/// Host of a server, with its port if that is not the default port.
pub(crate) fn host_of(server: &Server) -> String {
    let address = server.address();
    let host = address.host_str().unwrap_or_default();
    match address.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The settings that differ, for a plan that runs without them.
fn note(draft: &WorkspaceDraft) -> String {
    let settings = [
        ("execution mode", draft.execution_mode.is_some()),
        ("Terraform version", draft.terraform_version.is_some()),
        ("working directory", draft.working_directory.is_some()),
    ];
    let differ = settings.iter().filter(|(_name, differs)| *differs);
    let names: Vec<&str> = differ.map(|(name, _differs)| *name).collect();
    format!(
        "the plan has settings of the workspace that the next apply changes: {}",
        names.join(", ")
    )
}

/// Whether these tags are those of a workspace that was made only for an inspection.
pub(crate) fn is_disposable(tags: &BTreeSet<String>) -> bool {
    tags.contains(INSPECTION_TAG)
}

pub(crate) async fn tags_of(
    server: &Server,
    workspace: &Workspace,
) -> Result<BTreeSet<String>, RemoteError> {
    // Some servers name the tags in the workspace itself.
    let named = &workspace.tag_names;
    if !named.is_empty() {
        return Ok(named.iter().cloned().collect());
    }
    Ok(server.tags(&workspace.id).await?.into_iter().collect())
}

fn says_taken(refusal: &cts_hcp_terraform::RefusedCall) -> bool {
    let mut details = refusal.details.iter();
    details.any(|detail| detail.detail.contains("taken") || detail.title.contains("taken"))
}

/// Whether cts has made the workspace, and the workspace has never had content. Some servers ignore the tags of a new
/// workspace, and the worker that made this one may have been lost before it added them.
fn is_just_made(workspace: &Workspace, tags: &BTreeSet<String>) -> bool {
    let relations = &workspace.relationships;
    let content = [
        &relations.current_run,
        &relations.current_configuration_version,
        &relations.current_state_version,
    ];
    tags.is_empty()
        && workspace.source_name.as_deref() == Some(SOURCE_NAME)
        && content.iter().all(|related| related.id().is_none())
        && workspace.resource_count.unwrap_or_default() == 0
}

/// The rights of a token count as granted where the server does not name them: the refusal comes with the request
/// then.
fn facts(workspace: &Workspace, tags: BTreeSet<String>) -> WorkspaceFacts {
    let rights = &workspace.permissions;
    WorkspaceFacts {
        is_just_made: is_just_made(workspace, &tags),
        tags,
        execution_mode: workspace.execution_mode().to_owned(),
        has_version_control: workspace.vcs_repo.is_some(),
        may_queue_runs: rights.can_queue_run.unwrap_or(true),
        may_set_variables: rights.can_update_variable.unwrap_or(true),
    }
}
