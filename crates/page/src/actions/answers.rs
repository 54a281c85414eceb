//! The answers of REST that actions read.

use std::collections::BTreeMap;

use cts_proto::cluster::v1::{Brake, GetOverviewResponse, OverviewWorker};
use cts_proto::json::KnownState;
use cts_proto::run::v1::{Approval, PlanData, Run};
use cts_proto::task::v1::{Explanation, Hold};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::address::escape;
use crate::context::{Context, Refusal, read};

/// Settings of a task that decide what may happen next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Task {
    pub(crate) enabled: bool,
    /// `destroy` if a deletion destroys its infrastructure.
    pub(crate) on_delete: String,
    /// `suspended` while its destruction is suspended.
    pub(crate) destruction: String,
}

/// Effects that need consent, and the fingerprint of those that wait.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Consents {
    pub(crate) approvals: Vec<Approval>,
    pub(crate) set: String,
    /// Tasks in which a refused set differs.
    pub(crate) came: Vec<String>,
    pub(crate) went: Vec<String>,
    pub(crate) changed: Vec<String>,
}

/// The member `name` of the answer of `GET path`.
pub(crate) async fn member<T: DeserializeOwned>(
    path: &str,
    name: &str,
    context: &Context<'_>,
) -> Result<T, Refusal> {
    let answer: BTreeMap<String, Box<RawValue>> = context.get(path).await?;
    let value = answer.get(name).map_or("null", |value| value.get());
    read(value.as_bytes())
}

pub(crate) async fn task(name: &str, context: &Context<'_>) -> Result<Task, Refusal> {
    member(&format!("/v1/tasks/{}", escape(name)), "task", context).await
}

/// Why the newest data of a task are not applied; `None` if nothing blocks them.
pub(crate) async fn hold(name: &str, context: &Context<'_>) -> Result<Option<Hold>, Refusal> {
    let path = format!("/v1/status/tasks/{}", escape(name));
    let status: Value = member(&path, name, context).await?;
    read(status["hold"].to_string().as_bytes())
}

pub(crate) async fn explanation(name: &str, context: &Context<'_>) -> Result<Explanation, Refusal> {
    let path = format!("/v1/tasks/{}/explain", escape(name));
    member(&path, "explanation", context).await
}

pub(crate) async fn state(name: &str, context: &Context<'_>) -> Result<KnownState, Refusal> {
    let path = format!("/v1/tasks/{}/state", escape(name));
    context.get(&path).await
}

pub(crate) async fn run(id: &str, context: &Context<'_>) -> Result<Run, Refusal> {
    member(&format!("/v1/runs/{}", escape(id)), "run", context).await
}

pub(crate) async fn plan(run: &str, context: &Context<'_>) -> Result<PlanData, Refusal> {
    member(&format!("/v1/runs/{}/plan", escape(run)), "plan", context).await
}

pub(crate) async fn approval(run: &str, context: &Context<'_>) -> Result<Approval, Refusal> {
    member(
        &format!("/v1/approvals/{}", escape(run)),
        "approval",
        context,
    )
    .await
}

/// The effects of the tasks that match these patterns; of all tasks without patterns.
pub(crate) async fn approvals(
    patterns: &[&str],
    context: &Context<'_>,
) -> Result<Consents, Refusal> {
    let path = format!("/v1/approvals?{}", of_patterns(patterns));
    context.get(path.trim_end_matches('?')).await
}

/// The query that names tasks by these patterns.
pub(crate) fn of_patterns(patterns: &[&str]) -> String {
    let named = patterns.iter().map(|it| format!("task={}", escape(it)));
    named.collect::<Vec<_>>().join("&")
}

pub(crate) async fn brake(context: &Context<'_>) -> Result<Brake, Refusal> {
    context.get("/v1/brake").await
}

/// The worker with this id.
pub(crate) async fn worker(id: &str, context: &Context<'_>) -> Result<OverviewWorker, Refusal> {
    let overview: GetOverviewResponse = context.get("/v1/overview").await?;
    let found = overview.workers.into_iter().find(|worker| worker.id == id);
    found.ok_or_else(|| Refusal::not_found("A worker with this id is not known."))
}
