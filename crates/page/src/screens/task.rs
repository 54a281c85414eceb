//! One task: its state, why it ran or does not run, its runs and its definition.

mod definition;
mod story;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

use askama::Template;
use async_trait::async_trait;
use cts_proto::json::{KnownState, StateConflict};
use cts_proto::run::v1::{ListRunsResponse, StateAt};
use cts_proto::task::v1::Explanation;
use http::StatusCode;
use serde_json::{Map, Value};

use self::definition::settings;
use self::story::story;
use self::timeline::Item;
use self::words::commands;
use crate::actions;
use crate::address::escape;
use crate::context::{Context, Refusal};
use crate::screen::{Fragment, Part, Screen};
use crate::state::State;
use crate::state_line::StateLine;
use crate::svg::{self, Bar};
use crate::text::{Attribute, Foreign, Markup};
use crate::time::{Time, between};

/// The screen of the task with this name.
pub(crate) struct Task {
    name: String,
}

#[derive(Template)]
#[template(path = "task/facts.html")]
struct Facts<'a> {
    task: &'a Explanation,
    description: &'a str,
}

#[derive(Template)]
#[template(path = "task/why.html")]
struct Why<'a> {
    task: &'a Explanation,
    items: Vec<Item<'a>>,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "task/runs.html")]
struct Runs<'a> {
    name: &'a str,
    page: ListRunsResponse,
    bars: Markup,
    context: &'a Context<'a>,
}

#[derive(Template)]
#[template(path = "task/definition.html")]
struct Definition {
    settings: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "task/state.html")]
struct TerraformState {
    known: KnownState,
}

#[derive(Template)]
#[template(path = "task/commands.html")]
struct Commands {
    commands: Vec<String>,
}

impl Task {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }

    /// The path of REST for this task, with this end.
    fn path(&self, end: &str) -> String {
        format!("/v1/tasks/{}{end}", escape(&self.name))
    }

    async fn definition(&self, context: &Context<'_>) -> Result<Map<String, Value>, Refusal> {
        actions::member(&self.path(""), "task", context).await
    }

    async fn runs(&self, context: &Context<'_>) -> Result<askama::Result<String>, Refusal> {
        let path = format!("/v1/runs?task={}&limit=20", escape(&self.name));
        let page: ListRunsResponse = context.get(&path).await?;
        let bars = page.runs.iter().rev().map(|run| Bar {
            state: State::of_run(run),
            took: between(run.started_at.as_ref(), run.finished_at.as_ref()),
            at: Time::of(run.queued_at.as_ref()).map_or_else(String::new, Time::short),
        });
        let template = Runs {
            name: &self.name,
            bars: svg::bars(&bars.collect::<Vec<_>>()),
            page,
            context,
        };
        Ok(template.render())
    }
}

#[async_trait]
impl Screen for Task {
    fn title(&self) -> String {
        self.name.clone()
    }

    fn part(&self) -> Part {
        Part::Tasks
    }

    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        const NO_SCREEN: [StatusCode; 2] = [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN];
        let refusal = self.definition(context).await.err();
        // Another refusal, such as that of a scheduler that is away, ends: each fragment shows it.
        if let Some(refusal) = refusal.filter(|refusal| NO_SCREEN.contains(&refusal.status)) {
            return Err(refusal);
        }
        let ids = [
            "facts",
            "actions",
            "why",
            "runs",
            "definition",
            "state",
            "commands",
        ];
        Ok(ids.iter().filter_map(|id| self.fragment(id)).collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        let class = match id {
            "facts" => "facts-of-task",
            "actions" => "actions",
            "why" => "why",
            "runs" => "runs",
            "definition" => "definition",
            "state" => "terraform-state",
            "commands" => return Some(Fragment::fixed(id, "commands")),
            _ => return None,
        };
        Some(Fragment::new(id, format!("task:{}", self.name), class))
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let html = match id {
            "facts" => {
                let (task, definition) = (
                    actions::explanation(&self.name, context).await?,
                    self.definition(context).await?,
                );
                let description = definition.get("description").and_then(Value::as_str);
                let template = Facts {
                    task: &task,
                    description: description.unwrap_or_default(),
                };
                template.render()
            }
            "actions" => {
                let Markup(buttons) = actions::of_task(&self.name, context).await?;
                Ok(buttons)
            }
            "why" => {
                let task = actions::explanation(&self.name, context).await?;
                let template = Why {
                    items: timeline::fold(story(&task)),
                    task: &task,
                    context,
                };
                template.render()
            }
            "runs" => self.runs(context).await?,
            "definition" => {
                let settings = settings(&self.definition(context).await?);
                Definition { settings }.render()
            }
            "state" => {
                let known = context.get(&self.path("/state")).await?;
                TerraformState { known }.render()
            }
            _ => {
                let commands = commands(&self.name, context.viewer.leave);
                Commands { commands }.render()
            }
        };
        Ok(html.unwrap_or_default())
    }
}

/// The known places of a state that is not certain.
fn places(conflict: &StateConflict) -> impl Iterator<Item = (&'static str, &StateAt)> {
    let places = [("old", &conflict.old), ("new", &conflict.new)].into_iter();
    places.filter_map(|(name, place)| Some((name, place.as_ref()?)))
}
