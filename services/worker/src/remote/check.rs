//! The check of a task: whether its workspace can be used and its configuration renders
//! (docs/hcp-terraform.md#the-life-of-a-run). The check changes nothing on the server.

use cts_hcp_terraform::{ApiError, Server};
use tokio::task::spawn_blocking;

use super::remote_attempt::{Given, RemoteAttempt};
use crate::remote_driver::RemoteDriver;
use crate::remote_driver::error::RemoteError;

impl RemoteAttempt<'_> {
    /// Checks a task. A missing workspace is no error: the first run that plans or applies makes the workspace.
    pub(super) async fn check(&self, server: &Server, given: &Given) -> Result<(), RemoteError> {
        let definition = &given.input.definition;
        let wanted = definition.workspace.clone().unwrap_or_default();
        let mode = self.driver.execution(server, &wanted.execution).await?;
        let found = self.driver.usable(server, definition).await?;
        let version = if let Some((workspace, _tags)) = found {
            self.driver.difference(server, &workspace, mode, &wanted)?;
            workspace.attributes.terraform_version
        } else {
            self.driver.require_organization(server).await?;
            wanted.terraform_version
        };
        let version = version.as_deref().unwrap_or_default();
        let (configuration, _values) = self.render(given, version).await?;
        let packing = spawn_blocking(move || configuration.pack());
        packing.await??;
        Ok(())
    }
}

impl RemoteDriver {
    async fn require_organization(&self, server: &Server) -> Result<(), RemoteError> {
        let organization = &self.settings.organization;
        let found = server.require_organization(organization).await;
        found.map_err(|error| match error {
            ApiError::NotFound(_) | ApiError::Forbidden(_) => RemoteError::Organization {
                organization: organization.clone(),
            },
            error => error.into(),
        })
    }
}
