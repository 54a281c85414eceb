//! The list of runs, newest first.

use askama::Template;
use async_trait::async_trait;
use cts_proto::json::Word as _;
use cts_proto::run::v1::{Cause, ListCausesResponse, ListRunsResponse};
use url::form_urlencoded::Serializer;

use crate::address::{Query, escape};
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::screen::{Fragment, Part, Screen};
use crate::state::State;
use crate::text::Foreign;
use crate::time::Time;

/// Key of the versions that change whenever a run is queued or changes its state.
const KEY: &str = "causes";

/// Words of the filter by status; the empty one is for all runs.
const STATUSES: [&str; 7] = [
    "",
    "running",
    "queued",
    "waiting",
    "failed",
    "succeeded",
    "cancelled",
];

/// The screen `runs`. Its query has `task`, `status`, `cause` and `after` as `GET /v1/runs`; the status `waiting` is for
/// runs that wait for consent.
pub(crate) struct Runs {
    query: Query,
}

impl Runs {
    pub(crate) fn new(query: Query) -> Self {
        Self { query }
    }

    /// The call that lists the runs.
    fn call(&self) -> String {
        let status = match self.query.get("status") {
            "waiting" => "state",
            _ => "status",
        };
        let names = [
            ("task", "task"),
            (status, "status"),
            ("cause", "cause"),
            ("after", "after"),
        ];
        let filters = names.map(|(name, member)| (name, self.query.get(member)));
        let given = filters.iter().filter(|(_, value)| !value.is_empty());
        let query = Serializer::new(String::new()).extend_pairs(given).finish();
        format!("/v1/runs?{query}")
    }

    async fn cause(&self, context: &Context<'_>) -> Result<String, Refusal> {
        let id = self.query.get("cause");
        let call = format!("/v1/causes?limit=1&from={}", escape(id));
        let page: ListCausesResponse = context.get(&call).await?;
        let template = CauseOfRuns {
            cause: page.causes.iter().find(|cause| cause.id == id),
            address: context.link("runs"),
            newest: self.newest(),
        };
        Ok(template.render().unwrap_or_default())
    }

    async fn list(&self, context: &Context<'_>) -> Result<String, Refusal> {
        let page: ListRunsResponse = context.get(&self.call()).await?;
        let list = List {
            page: &page,
            context,
            query: &self.query,
        };
        Ok(list.render().unwrap_or_default())
    }

    /// The query from the newest run on.
    fn newest(&self) -> Query {
        self.query.clone().without(&["after"])
    }
}

#[async_trait]
impl Screen for Runs {
    fn title(&self) -> String {
        "Runs".to_owned()
    }

    fn part(&self) -> Part {
        Part::Runs
    }

    async fn fragments(&self, _context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        let ids = ["filter", "cause", "runs"];
        Ok(ids.iter().filter_map(|id| self.fragment(id)).collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        Some(match id {
            "filter" => Fragment::fixed(id, "section"),
            "cause" if !self.query.get("cause").is_empty() => Fragment::new(id, KEY, "card"),
            "runs" => Fragment::new(id, KEY, "wide"),
            _ => return None,
        })
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let filter = Filter {
            address: context.link("runs"),
            newest: self.newest(),
        };
        match id {
            "filter" => Ok(filter.render().unwrap_or_default()),
            "cause" => self.cause(context).await,
            _ => self.list(context).await,
        }
    }
}

#[derive(Template)]
#[template(path = "runs/filter.html")]
struct Filter {
    address: String,
    newest: Query,
}

#[derive(Template)]
#[template(path = "runs/cause.html")]
struct CauseOfRuns<'a> {
    cause: Option<&'a Cause>,
    address: String,
    newest: Query,
}

#[derive(Template)]
#[template(path = "runs/list.html")]
struct List<'a> {
    page: &'a ListRunsResponse,
    context: &'a Context<'a>,
    query: &'a Query,
}

#[cfg(test)]
mod tests;
