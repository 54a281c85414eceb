//! A run as a document: its state with the reasons, its times, its plan, its input, and its log.

mod answer;
mod facts;
mod groups;
mod input;
mod log;
mod log_lines;
mod plan;
mod search;
mod value;

use async_trait::async_trait;
use http::StatusCode;

use self::answer::RunCalls;
use crate::actions;
use crate::address::Query;
use crate::context::{Context, Refusal};
use crate::screen::{Fragment, Part, Screen, refused};
use crate::waterfall::Waterfall;

/// Sections in the order of the screen, each with its title and whether it changes with the run. The log is followed
/// by lines, not by versions.
const SECTIONS: [(&str, &str, bool); 7] = [
    ("actions", "", true),
    ("facts", "Facts", true),
    ("phases", "Time", true),
    ("plan", "Plan", true),
    ("input", "Input", true),
    ("found", "", false),
    ("log", "Log", false),
];

/// The screen `runs/ID`. Its query chooses the lines of the log: `line`, `before` or `after` a position, otherwise the
/// last lines; `attempt`; and `search`.
pub(crate) struct RunScreen {
    id: String,
    calls: RunCalls,
    query: Query,
}

impl RunScreen {
    pub(crate) fn new(id: &str, query: Query) -> Self {
        Self {
            id: id.to_owned(),
            calls: RunCalls::new(id),
            query,
        }
    }
}

#[async_trait]
impl Screen for RunScreen {
    fn title(&self) -> String {
        format!("Run {}", self.id)
    }

    fn part(&self) -> Part {
        Part::Runs
    }

    async fn fragments(&self, context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        if let Err(refusal) = self.calls.run(context).await
            && matches!(
                refusal.status,
                StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
            )
        {
            return Err(refusal);
        }
        let sections = SECTIONS.iter();
        Ok(sections.filter_map(|(id, ..)| self.fragment(id)).collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        let (id, _, is_live) = SECTIONS.iter().find(|(known, ..)| *known == id)?;
        if *id == "found" && self.query.get("search").is_empty() {
            return None;
        }
        let follows = *id == "log" && log::Place::of(&self.query).is_tail();
        Some(if *is_live || follows {
            Fragment::new(*id, format!("run:{}", self.id), "section")
        } else {
            Fragment::fixed(*id, if *id == "found" { id } else { "section" })
        })
    }

    async fn render(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let section = SECTIONS.iter().find(|(known, ..)| *known == id);
        let content = self.content(id, context).await;
        match section {
            // The title of a section stays above the reason why it has no content.
            Some((_, title, _)) if !title.is_empty() => {
                let content = content.unwrap_or_else(|refusal| refused(&refusal));
                Ok(format!("<h2>{title}</h2>\n{content}"))
            }
            _ => content,
        }
    }
}

impl RunScreen {
    async fn content(&self, id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let calls = &self.calls;
        match id {
            "facts" => Ok(facts::render(&calls.run(context).await?, context)),
            "actions" => Ok(actions::of_run(&calls.run(context).await?, context).0),
            "phases" => Ok(Waterfall::of(&calls.run(context).await?).html()),
            "plan" => plan::render(calls, context).await,
            "input" => input::render(calls, context).await,
            "found" => search::render(calls, &self.query, context).await,
            _ => log::render(calls, &self.query, context).await,
        }
    }
}

#[cfg(test)]
mod tests;
