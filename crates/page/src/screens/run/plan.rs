//! The plan of a run.

use askama::Template;
use cts_proto::json::Word as _;
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedOutput};
use http::StatusCode;

use super::answer::RunCalls;
use super::groups::{Fold, Group, groups, numbers};
use super::value::{Budget, Shown, bytes};
use crate::context::{Context, Refusal};
use crate::long::Long;
use crate::text::Foreign;

#[derive(Template)]
#[template(path = "run/plan.html")]
struct PlanSection<'a> {
    id: &'a str,
    plan: &'a PlanData,
    numbers: Vec<(u32, &'static str)>,
    /// Why not everything is kept; empty if it is.
    limit: &'static str,
    groups: Vec<Group<'a>>,
    outputs: Vec<&'a PlannedOutput>,
    /// Number of further outputs, which do not fit.
    more_outputs: usize,
}

/// Answers to a call for a plan that is not there, or not for this caller.
const MISSING: [StatusCode; 3] = [
    StatusCode::NOT_FOUND,
    StatusCode::NOT_IMPLEMENTED,
    StatusCode::FORBIDDEN,
];

/// The place of a plan that is not there as data.
#[derive(Template)]
#[template(path = "run/no_plan.html")]
struct NoPlan<'a> {
    reason: &'a str,
    /// Text of Terraform; empty without one.
    text: &'a str,
}

pub(super) async fn render(calls: &RunCalls, context: &Context<'_>) -> Result<String, Refusal> {
    let run = calls.run(context).await?;
    let plan = match calls.plan(context).await {
        Ok(plan) => plan,
        Err(refusal) if MISSING.contains(&refusal.status) => {
            let template = NoPlan {
                reason: &refusal.message,
                text: run.plan.as_ref().map_or("", |plan| &plan.text),
            };
            return Ok(template.render().unwrap_or_default());
        }
        Err(refusal) => return Err(refusal),
    };
    let mut budget = Budget::new();
    let groups = groups(&plan, &mut budget);
    let (outputs, more_outputs) = budget.take(plan.outputs.iter().collect(), |it| {
        it.name.len() + bytes(it.before.as_ref()) + bytes(it.after.as_ref())
    });
    let template = PlanSection {
        id: &run.id,
        plan: &plan,
        numbers: numbers(&plan.counts.unwrap_or_default()),
        limit: match plan.extent() {
            PlanExtent::Addresses => "The plan was too large: its values are not kept.",
            PlanExtent::Counts => "Only the numbers of the changes are kept.",
            PlanExtent::All | PlanExtent::Unspecified => "",
        },
        groups,
        outputs,
        more_outputs,
    };
    Ok(template.render().unwrap_or_default())
}
