//! The overview: what happens, in one sentence and one strip.

mod pipeline;
#[cfg(test)]
mod tests;
mod times;

use askama::Template;
use async_trait::async_trait;
use cts_proto::cluster::v1::{Brake, GetOverviewResponse, GetTimesResponse};
use cts_proto::json::Word as _;
use cts_proto::overview;
use cts_proto::run::v1::{Cause, ListCausesResponse, RunPhase};
use cts_proto::task::v1::ListTaskPageResponse;

use self::pipeline::{Stage, stages};
use crate::address::escape;
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::screen::{Fragment, Part, Screen};
use crate::state::State;
use crate::state_line::StateLine;
use crate::text::{Attribute, Foreign};
use crate::time::{Millis, Time};

const OVERVIEW: &str = "/v1/overview";
const CAUSES: &str = "/v1/causes?limit=6";
const RUNNING: &str = "/v1/overview/tasks?state=running&sort=since";
const TIMES: &str = "/v1/times?since=24h";

pub(crate) struct Overview;

#[derive(Template)]
#[template(path = "overview/sentence.html")]
struct Sentence<'a> {
    overview: &'a GetOverviewResponse,
    /// How many tasks are in each state.
    states: &'a str,
}

#[derive(Template)]
#[template(path = "overview/brake.html")]
struct BrakeLine<'a> {
    brake: Option<&'a Brake>,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "overview/problems.html")]
struct Problems<'a> {
    overview: &'a GetOverviewResponse,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "overview/pipeline.html")]
struct Pipeline<'a> {
    stages: [Stage; 6],
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "overview/causes.html")]
struct Causes<'a> {
    page: ListCausesResponse,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "overview/running.html")]
struct Running<'a> {
    page: ListTaskPageResponse,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "overview/times.html")]
struct Times {
    times: GetTimesResponse,
}

#[async_trait]
impl Screen for Overview {
    fn title(&self) -> String {
        "Overview".to_owned()
    }

    fn part(&self) -> Part {
        Part::Overview
    }

    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        let ids = [
            "brake", "sentence", "problems", "pipeline", "causes", "running", "times",
        ];
        // Times are those of all tasks.
        let shown = ids
            .iter()
            .filter(|id| **id != "times" || context.viewer.all_tasks);
        Ok(shown.filter_map(|id| self.fragment(id)).collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        let (key, class) = match id {
            "brake" => ("overview", "brake"),
            "sentence" => ("overview", "summary"),
            "problems" => ("overview", "problems"),
            "pipeline" => ("overview", "pipeline"),
            "causes" => ("causes", "causes"),
            "running" => ("tasks", "running"),
            // Each change that is applied is an end of a run.
            "times" => ("causes", "times"),
            _ => return None,
        };
        Some(Fragment::new(id, key, class))
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let html = match id {
            "causes" => {
                let page = context.get(CAUSES).await?;
                Causes { page, context }.render()
            }
            "running" => {
                let page = context.get(RUNNING).await?;
                Running { page, context }.render()
            }
            "times" => {
                let times = context.get(TIMES).await?;
                Times { times }.render()
            }
            _ => {
                let overview: GetOverviewResponse = context.get(OVERVIEW).await?;
                of_overview(id, &overview, context)
            }
        };
        Ok(html.unwrap_or_default())
    }
}

/// The fragments that show parts of the condition of everything.
fn of_overview(
    id: &str,
    overview: &GetOverviewResponse,
    context: &Context<'_>,
) -> askama::Result<String> {
    match id {
        "brake" => {
            let brake = overview.brake.as_ref().filter(|brake| brake.set);
            BrakeLine { brake, context }.render()
        }
        "sentence" => {
            let states = &overview::states(overview);
            Sentence { overview, states }.render()
        }
        "pipeline" => {
            let stages = stages(overview, context.viewer.all_tasks);
            Pipeline { stages, context }.render()
        }
        _ => Problems { overview, context }.render(),
    }
}

fn number_of_tasks(cause: &Cause) -> u32 {
    cause.tasks.iter().map(|tasks| tasks.count).sum()
}
