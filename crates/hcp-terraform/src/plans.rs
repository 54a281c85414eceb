//! Plans and applies: status, counts and logs.

use serde::Deserialize;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;
use crate::signed_url::SignedUrl;
use crate::text_enum::text_enum;

text_enum! {
    /// Status of a plan or an apply.
    StageStatus {
        Pending = "pending",
        ManagedQueued = "managed_queued",
        Queued = "queued",
        Running = "running",
        Errored = "errored",
        Canceled = "canceled",
        Finished = "finished",
        Unreachable = "unreachable",
    }
}

/// The plan of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Resource<Attributes>")]
pub struct Plan {
    /// Id, `plan-…`.
    pub id: String,
    /// Status.
    pub status: StageStatus,
    /// Whether it has changes; `None` before its end.
    pub has_changes: Option<bool>,
    /// Resources to create.
    pub additions: Option<u64>,
    /// Resources to change.
    pub changes: Option<u64>,
    /// Resources to destroy.
    pub destructions: Option<u64>,
    /// Resources to import.
    pub imports: Option<u64>,
    /// Log, for [`Server::log_piece`].
    pub log_url: Option<SignedUrl>,
}

/// The apply of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Resource<Attributes>")]
pub struct Apply {
    /// Id, `apply-…`.
    pub id: String,
    /// Status.
    pub status: StageStatus,
    /// Created resources.
    pub additions: Option<u64>,
    /// Changed resources.
    pub changes: Option<u64>,
    /// Destroyed resources.
    pub destructions: Option<u64>,
    /// Imported resources.
    pub imports: Option<u64>,
    /// Log, for [`Server::log_piece`].
    pub log_url: Option<SignedUrl>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    status: StageStatus,
    has_changes: Option<bool>,
    resource_additions: Option<u64>,
    resource_changes: Option<u64>,
    resource_destructions: Option<u64>,
    resource_imports: Option<u64>,
    log_read_url: Option<SignedUrl>,
}

impl From<Resource<Attributes>> for Plan {
    fn from(resource: Resource<Attributes>) -> Self {
        let plan = resource.attributes;
        Self {
            id: resource.id,
            status: plan.status,
            has_changes: plan.has_changes,
            additions: plan.resource_additions,
            changes: plan.resource_changes,
            destructions: plan.resource_destructions,
            imports: plan.resource_imports,
            log_url: plan.log_read_url,
        }
    }
}

impl From<Resource<Attributes>> for Apply {
    fn from(resource: Resource<Attributes>) -> Self {
        let apply = resource.attributes;
        Self {
            id: resource.id,
            status: apply.status,
            additions: apply.resource_additions,
            changes: apply.resource_changes,
            destructions: apply.resource_destructions,
            imports: apply.resource_imports,
            log_url: apply.log_read_url,
        }
    }
}

impl Server {
    /// Reads the plan of a run.
    pub async fn plan(&self, id: &str) -> Result<Plan, ApiError> {
        self.get(&["plans", id]).await
    }

    /// Reads the apply of a run.
    pub async fn apply(&self, id: &str) -> Result<Apply, ApiError> {
        self.get(&["applies", id]).await
    }
}
