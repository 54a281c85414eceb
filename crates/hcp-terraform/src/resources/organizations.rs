//! Organizations and their agent pools.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;

/// Agents that execute runs.
pub type AgentPool = Resource<AgentPoolAttributes>;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentPoolAttributes {
    /// Name, unique in the organization.
    pub name: String,
}

impl Server {
    /// Fails with [`ApiError::NotFound`] if an organization does not exist, or is not visible with this token.
    pub async fn require_organization(&self, organization: &str) -> Result<(), ApiError> {
        let path = ["organizations", organization, "entitlement-set"];
        let _features: Resource<IgnoredAny> = self.get(&path).await?;
        Ok(())
    }

    /// Finds the agent pool of this name. The search of the API also finds similar names, which do not count.
    pub async fn agent_pool(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<Option<AgentPool>, ApiError> {
        let path = ["organizations", organization, "agent-pools"];
        let pools: Vec<AgentPool> = self.list(&path, &[("q", name)]).await?;
        Ok(pools.into_iter().find(|pool| pool.name == name))
    }
}
