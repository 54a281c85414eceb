//! The organization with its projects and agent pools.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::call::{Answered, Call, Refusal, Reply, reference};
use super::super::model::{AgentPool, Model};

pub(super) const fn ping() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

fn document(model: &Model) -> Value {
    let name = &model.settings.organization;
    json!({
        "id": name,
        "type": "organizations",
        "attributes": {
            "name": name, "external-id": "org-0123456789abcdef", "default-execution-mode": "remote",
            "permissions": {"can-create-workspace": true},
        },
        "relationships": {"default-project": reference("projects", &model.projects[0].0)},
    })
}

pub(super) fn list(model: &Model, call: &Call<'_>) -> Reply {
    call.page(vec![document(model)])
}

pub(super) fn get(model: &Model) -> Reply {
    Reply::ok(document(model))
}

pub(super) fn entitlements(model: &Model) -> Reply {
    Reply::ok(json!({
        "id": "org-0123456789abcdef",
        "type": "entitlement-sets",
        "attributes": {
            "operations": true, "agents": model.settings.agents, "state-storage": true,
            "teams": true, "vcs-integrations": true, "sentinel": true, "cost-estimation": true,
            "private-module-registry": true, "policy-enforcement": true,
        },
    }))
}

fn project_document(model: &Model, id: &str, name: &str) -> Value {
    json!({
        "id": id,
        "type": "projects",
        "attributes": {"name": name, "permissions": {"can-create-workspace": true}},
        "relationships": {"organization": reference("organizations", &model.settings.organization)},
    })
}

pub(super) fn projects(model: &Model, call: &Call<'_>) -> Reply {
    let wanted = call.parameter("filter[names]");
    let projects = model.projects.iter();
    let found = projects.filter(|(_, name)| wanted.is_none_or(|wanted| wanted == name));
    call.page(
        found
            .map(|(id, name)| project_document(model, id, name))
            .collect(),
    )
}

pub(super) fn project(model: &Model, id: &str) -> Answered {
    let mut projects = model.projects.iter();
    match projects.find(|(known, _)| known == id) {
        Some((id, name)) => Ok(Reply::ok(project_document(model, id, name))),
        None => Err(Refusal::not_found()),
    }
}

fn pool_document(model: &Model, pool: &AgentPool) -> Value {
    json!({
        "id": pool.id,
        "type": "agent-pools",
        "attributes": {
            "name": pool.name, "organization-scoped": true, "agent-count": pool.agents,
        },
        "relationships": {"organization": reference("organizations", &model.settings.organization)},
    })
}

/// The search by name takes parts of names, too.
pub(super) fn agent_pools(model: &Model, call: &Call<'_>) -> Answered {
    if !model.settings.agents {
        return Err(Refusal::not_found());
    }
    let part = call.parameter("q").unwrap_or_default();
    let pools = model.agent_pools.iter();
    let found = pools.filter(|pool| pool.name.contains(part));
    Ok(call.page(found.map(|pool| pool_document(model, pool)).collect()))
}

pub(super) fn agent_pool(model: &Model, id: &str) -> Answered {
    let mut pools = model.agent_pools.iter();
    match pools.find(|pool| pool.id == id) {
        Some(pool) => Ok(Reply::ok(pool_document(model, pool))),
        None => Err(Refusal::not_found()),
    }
}
