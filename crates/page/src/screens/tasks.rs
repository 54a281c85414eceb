//! All tasks: as a grid of squares, and as pages.

mod facets;
mod grid;
#[cfg(test)]
mod tests;

use askama::Template;
use async_trait::async_trait;
use cts_proto::task::v1::{GetTaskGridResponse, ListTaskPageResponse, NamedState};
use futures::future::join_all;
use tokio::sync::OnceCell;

use self::facets::{Facet, facets};
use self::grid::Group;
use crate::address::{Query, escape};
use crate::context::{Context, Refusal};
use crate::link::Link;
use crate::screen::{Fragment, Part, Screen};
use crate::state_line::StateLine;
use crate::text::Attribute;

/// More tasks than these are a grid, unless the address chooses.
const LISTED: usize = 200;

/// Members of the query that only a list has.
const OF_LISTS: [&str; 4] = ["search", "state", "sort", "page"];

const GRID: &str = "/v1/overview/tasks?form=grid";

/// The screen, whose query has `view` (`grid`, `list` or `names`); `search`, `state`, `sort` and `page` of a list, as in
/// REST; and `group`, the number of the group whose names are wanted.
pub(crate) struct Tasks {
    query: Query,
    grid: OnceCell<String>,
}

#[derive(Template)]
#[template(path = "tasks/search.html")]
struct Search<'a> {
    screen: &'a Tasks,
    is_list: bool,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "tasks/facets.html")]
struct Facets<'a> {
    total: usize,
    states: Vec<Facet>,
    screen: &'a Tasks,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "tasks/group.html")]
struct GroupSquares<'a> {
    number: usize,
    group: Group,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "tasks/names.html")]
struct Names<'a> {
    first: usize,
    tasks: &'a [NamedState],
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "tasks/list.html")]
struct List<'a> {
    answer: ListTaskPageResponse,
    page: u32,
    screen: &'a Tasks,
    context: &'a Context<'a>,
}

impl Tasks {
    pub(crate) fn new(query: Query) -> Self {
        Self {
            query,
            grid: OnceCell::new(),
        }
    }

    /// One character for the state of each task.
    async fn grid(&self, context: &Context<'_>) -> Result<&str, Refusal> {
        let read = || async {
            let answer: GetTaskGridResponse = context.get(GRID).await?;
            Ok(answer.grid)
        };
        self.grid.get_or_try_init(read).await.map(String::as_str)
    }

    /// Whether tasks are a list: as the address chooses, otherwise unless they are many.
    async fn is_list(&self, context: &Context<'_>) -> bool {
        match self.query.get("view") {
            "list" => true,
            "grid" => false,
            _ if OF_LISTS.iter().any(|name| !self.query.get(name).is_empty()) => true,
            // A refusal is shown in the place of the list.
            _ => !matches!(self.grid(context).await, Ok(grid) if grid.len() > LISTED),
        }
    }

    /// The address of the list with another value of `name`; on its first page, unless that is the value.
    fn address(&self, context: &Context<'_>, name: &str, value: &str) -> String {
        let query = Query::parse(&self.query.with("page", ""));
        let query = Query::parse(&query.with("view", "list"));
        context.link(&format!("tasks?{}", query.with(name, value)))
    }

    fn page(&self, context: &Context<'_>, page: u32) -> String {
        self.address(context, "page", &page.to_string())
    }

    /// The value of `aria-sort` of the column that sorts in this order.
    fn sorted(&self, order: &str) -> &'static str {
        match (self.query.get("sort"), order) {
            ("since", "since") => "descending",
            ("" | "name", "name") | ("state", "state") => "ascending",
            _ => "none",
        }
    }

    /// The groups that have tasks, and an empty group for the tasks that come next.
    async fn groups(&self, context: &Context<'_>) -> Result<String, Refusal> {
        let groups = 0..=self.grid(context).await?.len().div_ceil(grid::TASKS);
        let groups: Vec<_> = groups.map(group).collect();
        let elements = groups.iter().map(|group| group.element(self, context));
        Ok(join_all(elements).await.concat())
    }

    /// The names of a group, which are half of a page of the list by name.
    async fn names(&self, context: &Context<'_>) -> Result<String, Refusal> {
        let number = self.number("group");
        let path = format!("/v1/overview/tasks?page={}", number / 2 + 1);
        let page: ListTaskPageResponse = context.get(&path).await?;
        let mut halves = page.states.chunks(grid::TASKS);
        let template = Names {
            first: number.saturating_mul(grid::TASKS).saturating_add(1),
            tasks: halves.nth(number % 2).unwrap_or_default(),
            context,
        };
        Ok(template.render().unwrap_or_default())
    }

    async fn list(&self, context: &Context<'_>) -> Result<String, Refusal> {
        let page = u32::try_from(self.number("page").max(1)).unwrap_or(u32::MAX);
        let members = ["search", "state", "sort"].map(|name| (name, self.query.get(name)));
        let members = members.into_iter().filter(|(_, value)| !value.is_empty());
        let members = members.map(|(name, value)| format!("{name}={}&", escape(value)));
        let members: String = members.collect();
        let path = format!("/v1/overview/tasks?{members}page={page}");
        let template = List {
            answer: context.get(&path).await?,
            page,
            screen: self,
            context,
        };
        Ok(template.render().unwrap_or_default())
    }

    /// A number of the query; 0 for anything else.
    fn number(&self, name: &str) -> usize {
        self.query.get(name).parse().unwrap_or(0)
    }
}

fn group(number: usize) -> Fragment {
    let id = format!("grid-{number}");
    Fragment::new(id, format!("grid:{number}"), "group")
}

#[async_trait]
impl Screen for Tasks {
    fn title(&self) -> String {
        "Tasks".to_owned()
    }

    fn part(&self) -> Part {
        Part::Tasks
    }

    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        let ids: &[&str] = if self.query.get("view") == "names" {
            &["names"]
        } else if self.is_list(context).await {
            &["search", "facets", "list"]
        } else {
            &["search", "facets", "grid"]
        };
        Ok(ids.iter().filter_map(|id| self.fragment(id)).collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        Some(match id {
            "search" => Fragment::fixed(id, "views"),
            "facets" => Fragment::new(id, "tasks", "counts"),
            "grid" => Fragment::fixed(id, "grid"),
            "list" => Fragment::new(id, "tasks", "tasks"),
            "names" => Fragment::new(id, format!("grid:{}", self.number("group")), "names"),
            _ => group(id.strip_prefix("grid-")?.parse().ok()?),
        })
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let screen = self;
        let html = match id {
            "grid" => return self.groups(context).await,
            "names" => return self.names(context).await,
            "list" => return self.list(context).await,
            "search" => {
                let template = Search {
                    screen,
                    is_list: self.is_list(context).await,
                    context,
                };
                template.render()
            }
            "facets" => {
                let grid = self.grid(context).await?;
                let template = Facets {
                    total: grid.len(),
                    states: facets(grid, self.query.get("state")),
                    screen,
                    context,
                };
                template.render()
            }
            _ => {
                let number = id.trim_start_matches("grid-").parse().unwrap_or(usize::MAX);
                let group = Group::of(self.grid(context).await?, number);
                let squares = group.map(|group| GroupSquares {
                    number,
                    group,
                    context,
                });
                squares.map_or(Ok(String::new()), |squares| squares.render())
            }
        };
        Ok(html.unwrap_or_default())
    }
}
