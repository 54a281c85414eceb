//! Resources that a plan destroys; the whole plan is on the screen of its run.

use askama::Template;
use cts_proto::run::v1::{PlannedAction, PlannedChange};

use crate::actions;
use crate::address::escape;
use crate::context::Context;
use crate::text::{Foreign, Markup};

/// Most resources that are named.
const NAMED: usize = 200;

#[derive(Template)]
#[template(path = "approvals/losses.html")]
struct Losses<'a> {
    /// Resources with a sign as in the command line.
    named: Vec<(&'static str, &'a str)>,
    more: usize,
    others: usize,
    reason: Option<String>,
    plan: String,
}

/// The resources that the plan of `run` destroys, replaces or forgets, or the reason why they cannot be shown.
pub(super) async fn losses(run: &str, context: &Context<'_>) -> Markup {
    let plan = actions::plan(run, context).await;
    let reason = plan.as_ref().err().map(|refusal| refusal.message.clone());
    let changes = plan.as_ref().map_or(&[][..], |plan| &plan.changes);
    let mut named: Vec<_> = changes.iter().filter_map(loss).collect();
    named.sort_by_key(|(order, _, _)| *order);
    let changed = changes.iter().filter(|change| !is_idle(change)).count();
    let losses = Losses {
        others: changed - named.len(),
        more: named.len().saturating_sub(NAMED),
        named: named
            .into_iter()
            .take(NAMED)
            .map(|(_, sign, address)| (sign, address))
            .collect(),
        reason,
        plan: context.link(&format!("runs/{}#plan", escape(run))),
    };
    Markup(losses.render().unwrap_or_default())
}

fn is_idle(change: &PlannedChange) -> bool {
    matches!(change.action(), PlannedAction::None | PlannedAction::Read)
}

/// Place in the list, sign and address of a change that takes something away.
fn loss(change: &PlannedChange) -> Option<(u8, &'static str, &str)> {
    let (order, sign) = match change.action() {
        PlannedAction::Unspecified => (0, "?"),
        PlannedAction::Delete => (1, "-"),
        PlannedAction::DeleteThenCreate => (2, "-/+"),
        PlannedAction::CreateThenDelete => (2, "+/-"),
        PlannedAction::Forget => (3, "."),
        PlannedAction::None
        | PlannedAction::Create
        | PlannedAction::Read
        | PlannedAction::Update => return None,
    };
    Some((order, sign, &change.address))
}
