//! The effects that need consent.

use askama::Template;
use async_trait::async_trait;
use cts_proto::run::v1::{Approval, ApprovalState};

use crate::action::Button;
use crate::actions::{self, Key};
use crate::address::{Query, escape};
use crate::context::{Context, Refusal};
use crate::screen::{Fragment, Part, Screen};
use crate::text::{Foreign, Markup};
use crate::time::Time;

/// The effects of the tasks that the patterns `task` of the query match.
pub(crate) struct Approvals {
    pub(crate) query: Query,
}

struct Row<'a> {
    approval: &'a Approval,
    changes: String,
    state: String,
    address: String,
    task: String,
    since: Option<Time>,
    expires: Option<Time>,
    reopen: Option<Markup>,
}

#[derive(Template)]
#[template(path = "approvals/list.html")]
struct List<'a> {
    address: String,
    patterns: Vec<&'a str>,
    rows: Vec<Row<'a>>,
    set: Option<Markup>,
}

fn row<'a>(approval: &'a Approval, context: &Context<'_>) -> Row<'a> {
    let reopen = || {
        let button = Button::new(Key::Reopen.action(), "", context);
        button.with("task", &approval.task_name).markup()
    };
    Row {
        changes: actions::changes(approval),
        state: actions::consent_state(approval),
        address: context.link(&format!("approvals/{}", escape(&approval.run_id))),
        task: context.link(&format!("tasks/{}", escape(&approval.task_name))),
        since: Time::of(approval.asked_at.as_ref()),
        expires: Time::of(approval.expires_at.as_ref()),
        reopen: (approval.state() == ApprovalState::Rejected).then(reopen),
        approval,
    }
}

#[async_trait]
impl Screen for Approvals {
    fn title(&self) -> String {
        "Approvals".to_owned()
    }

    fn part(&self) -> Part {
        Part::Approvals
    }

    async fn fragments(&self, _context: &Context<'_>) -> Result<Vec<Fragment>, Refusal> {
        Ok(self.fragment("approvals").into_iter().collect())
    }

    fn fragment(&self, id: &str) -> Option<Fragment> {
        (id == "approvals").then(|| Fragment::new(id, "approvals", "approvals"))
    }

    async fn render(&self, _id: &str, context: &Context<'_>) -> Result<String, Refusal> {
        let given = self.query.all("task").filter(|pattern| !pattern.is_empty());
        let mut patterns: Vec<&str> = given.collect();
        let listed = actions::approvals(&patterns, context).await?;
        let waits = listed.approvals.iter().any(actions::is_waiting);
        let set = Button::new(Key::ApproveSet.action(), "", context);
        let set = set.at(&actions::of_patterns(&patterns));
        if patterns.is_empty() {
            patterns.push("");
        }
        let list = List {
            address: context.link("approvals"),
            patterns,
            rows: listed.approvals.iter().map(|it| row(it, context)).collect(),
            set: waits.then(|| set.markup()),
        };
        Ok(list.render().unwrap_or_default())
    }
}
