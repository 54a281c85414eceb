//! The processes of cts: schedulers, workers and watchers, with their problems; the queue and the brake.

mod configuration;

use askama::Template;
use async_trait::async_trait;
use chrono::TimeDelta;
use cts_proto::cluster::v1::{GetOverviewResponse, OverviewWorker, WorkerCondition};
use cts_proto::json::Word as _;
use cts_proto::time::{duration_from_wire, timestamp_from_wire};
use prost_types::Duration;

use crate::actions;
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::screen::{Fragment, Part, Screen};
use crate::state::State;
use crate::text::{Attribute, Foreign};
use crate::time::Time;

/// The screen `cluster`.
pub(crate) struct Cluster;

/// Fragments in their order, each with its key.
const FRAGMENTS: [(&str, &str); 6] = [
    ("brake", "overview"),
    ("queue", "overview"),
    ("workers", "workers"),
    ("schedulers", "overview"),
    ("watchers", "overview"),
    ("configuration", "overview"),
];

#[async_trait]
impl Screen for Cluster {
    fn title(&self) -> String {
        "Cluster".to_owned()
    }

    fn part(&self) -> Part {
        Part::Cluster
    }

    async fn fragments(&self, _context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        let all = FRAGMENTS.iter().filter_map(|(id, _)| self.fragment(id));
        Ok(all.collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        let (id, key) = FRAGMENTS.iter().find(|(known, _)| *known == id)?;
        Some(Fragment::new(*id, *key, "wide"))
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        if id == "configuration" {
            return configuration::render(context).await;
        }
        let overview: GetOverviewResponse = context.get("/v1/overview").await?;
        let section = Section {
            id,
            overview: &overview,
            context,
        };
        Ok(section.render().unwrap_or_default())
    }
}

/// A part of the overview. Ages of processes that are well are not shown: they change with every answer.
#[derive(Template)]
#[template(path = "cluster/section.html")]
struct Section<'a> {
    id: &'a str,
    overview: &'a GetOverviewResponse,
    context: &'a Context<'a>,
}

impl Section<'_> {
    /// The time of the last sign of a process.
    fn last_sign(&self, silent_for: Option<&Duration>) -> Option<Time> {
        let at = timestamp_from_wire(self.overview.at.as_ref())?;
        let silent_for = TimeDelta::from_std(duration_from_wire(silent_for)).ok()?;
        at.checked_sub_signed(silent_for).map(Time)
    }
}

/// Whether the worker missed several heartbeats.
fn is_lost(worker: &OverviewWorker) -> bool {
    worker.condition() == WorkerCondition::Lost
}

fn state_of(worker: &OverviewWorker) -> State {
    match worker.condition() {
        WorkerCondition::Active if !worker.problem.is_empty() => health(false),
        condition => State(condition.word()),
    }
}

fn health(healthy: bool) -> State {
    State(if healthy { "healthy" } else { "sick" }.to_owned())
}

#[cfg(test)]
mod tests;
