//! The organization with its agent pools.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::call::{Call, Reply};
use super::super::model::{AgentPool, Model};

pub(super) const fn ping() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

pub(super) fn entitlements() -> Reply {
    Reply::ok(json!({
        "id": "org-0123456789abcdef",
        "type": "entitlement-sets",
        "attributes": {
            "operations": true, "agents": true, "state-storage": true,
            "teams": true, "vcs-integrations": true, "sentinel": true, "cost-estimation": true,
            "private-module-registry": true, "policy-enforcement": true,
        },
    }))
}

fn pool_document(pool: &AgentPool) -> Value {
    json!({
        "id": pool.id,
        "type": "agent-pools",
        "attributes": {
            "name": pool.name, "organization-scoped": true, "agent-count": pool.agents,
        },
    })
}

/// The search by name takes parts of names, too.
pub(super) fn agent_pools(model: &Model, call: &Call<'_>) -> Reply {
    let part = call.parameter("q").unwrap_or_default();
    let pools = model.agent_pools.iter();
    let found = pools.filter(|pool| pool.name.contains(part));
    call.page(found.map(pool_document).collect())
}
