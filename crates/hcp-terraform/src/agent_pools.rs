//! Agent pools of an organization.

use serde::Deserialize;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;

/// Agents that execute runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<Attributes>")]
pub struct AgentPool {
    /// Id, `apool-…`.
    pub id: String,
    /// Name, unique in the organization.
    pub name: String,
}

#[derive(Deserialize)]
struct Attributes {
    name: String,
}

impl From<Resource<Attributes>> for AgentPool {
    fn from(resource: Resource<Attributes>) -> Self {
        Self {
            id: resource.id,
            name: resource.attributes.name,
        }
    }
}

impl Server {
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
