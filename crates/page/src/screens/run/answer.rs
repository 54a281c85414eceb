//! The calls of REST about one run.

use cts_proto::run::v1::{InputData, PlanData, Run};

use crate::actions::member;
use crate::address::escape;
use crate::context::{Context, Refusal};

/// The calls about one run.
pub(super) struct RunCalls {
    /// Path of the run below `/v1/` and below the prefix of the page.
    path: String,
}

impl RunCalls {
    pub(super) fn new(id: &str) -> Self {
        Self {
            path: format!("runs/{}", escape(id)),
        }
    }

    pub(super) async fn run(&self, context: &Context<'_>) -> Result<Run, Refusal> {
        let call = format!("/v1/{}?include=cause,attempts", self.path);
        member(&call, "run", context).await
    }

    pub(super) async fn plan(&self, context: &Context<'_>) -> Result<PlanData, Refusal> {
        member(&format!("/v1/{}/plan", self.path), "plan", context).await
    }

    pub(super) async fn input(&self, context: &Context<'_>) -> Result<InputData, Refusal> {
        context.get(&format!("/v1/{}/input", self.path)).await
    }

    /// The call for a part of the log.
    pub(super) fn log(&self, query: &str) -> String {
        format!("/v1/{}/log?format=ndjson&{query}", self.path)
    }

    /// Address of the screen of the run.
    pub(super) fn address(&self, context: &Context<'_>) -> String {
        context.link(&self.path)
    }
}
