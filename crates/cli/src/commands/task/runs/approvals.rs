//! `cts approvals`: consent to the effects of plans.

mod text;

use cts_api_client::{Approval, Approvals, CallError};
use cts_proto::run::v1::PlanData;
use serde::Serialize;
use serde_json::json;

use self::text::{details, listing};
use super::plan;
use super::run_id::{ShownIds, run_id};
use crate::arguments::{Approve, Output, QueryOptions, TableWidth};
use crate::commands::task::session::{ExitStatus, Session};
use crate::commands::time_text::{local, moment};

/// Where the effects are.
const LIST_HINT: &str = "`cts approvals list` shows what waits";

/// Runs `cts approvals list`.
pub(in crate::commands::task) async fn list(
    session: &mut Session<'_>,
    query: &QueryOptions,
    patterns: &[String],
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let list = client.approvals(patterns).await.map_err(|error| {
        let headline = "Error: unable to list what waits for consent";
        session.call_failed(headline, &error)
    })?;
    match query.output {
        Output::Json => {
            let document = json!({ "approvals": list.approvals, "set": list.set });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table if list.approvals.is_empty() => {
            session.ui.note("Nothing waits for consent.");
        }
        Output::Table => {
            let width = query.wide.width();
            let ids = ShownIds::fetch(&client, width).await;
            let text = listing(&list, |id| ids.short(id).to_owned(), width);
            session.ui.result(&text);
        }
    }
    Ok(())
}

/// The consent and its plan.
#[derive(Serialize)]
struct Shown<'a> {
    approval: &'a Approval,
    plan: Option<&'a PlanData>,
}

/// Runs `cts approvals show`.
pub(in crate::commands::task) async fn show(
    session: &mut Session<'_>,
    query: &QueryOptions,
    id: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let id = run_id(session, &client, id).await?;
    let approval = client.approval(&id).await;
    let approval = approval.map_err(|error| failed(session, "show", &id, &error))?;
    let plan = match client.plan(&id).await {
        Ok(plan) => Some(plan),
        Err(error) if error.is_not_found() => None,
        Err(error) => {
            let headline = "Error: unable to show the plan of the run";
            return Err(session.call_failed(headline, &error));
        }
    };
    let text = match query.output {
        Output::Json => {
            let shown = Shown {
                approval: &approval,
                plan: plan.as_ref(),
            };
            // Not by way of a value, whose numbers would be rounded.
            serde_json::to_string_pretty(&shown).unwrap_or_default() + "\n"
        }
        Output::Table => {
            let plan = plan
                .as_ref()
                .map_or_else(|| "The plan is no longer kept.\n".to_owned(), plan::text);
            format!("{}\n{plan}", details(&approval))
        }
    };
    session.ui.result(&text);
    Ok(())
}

/// Runs `cts approvals approve`.
pub(in crate::commands::task) async fn approve(
    session: &mut Session<'_>,
    options: Approve,
) -> Result<(), ExitStatus> {
    let Approve {
        query,
        effect,
        set,
        comment,
        id,
    } = options;
    if let Some(set) = set {
        return approve_set(session, &query, (id, &set), &comment).await;
    }
    let effect = effect.unwrap_or_default();
    decide(session, &query, &id, (&effect, false), &comment).await
}

/// Approves or rejects the effect of one run.
pub(in crate::commands::task) async fn decide(
    session: &mut Session<'_>,
    query: &QueryOptions,
    id: &str,
    (effect, rejects): (&str, bool),
    comment: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let id = run_id(session, &client, id).await?;
    let decision = (effect, rejects);
    let decided = client.decide_approval(&id, decision, comment).await;
    let word = if rejects { "reject" } else { "approve" };
    let approval = decided.map_err(|error| failed(session, word, &id, &error))?;
    let (effect, task) = (&approval.effect, &approval.task_name);
    session.ui.note(&if rejects {
        format!("The effect {effect} of '{task}' is rejected; `cts approvals reopen` forgets that")
    } else {
        let end = moment(approval.expires_at).map(local);
        let end = end.map_or_else(String::new, |end| format!(" until {end}"));
        format!("The effect {effect} of '{task}' is approved{end}")
    });
    if let Output::Json = query.output {
        session.ui.result(&format!("{:#}\n", json!(approval)));
    }
    Ok(())
}

async fn approve_set(
    session: &mut Session<'_>,
    query: &QueryOptions,
    (pattern, set): (String, &str),
    comment: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let approved = client.approve_set(&[pattern], set, comment).await;
    let approvals = approved.map_err(|error| {
        let Some(present) = Approvals::of_conflict(&error) else {
            return session.call_failed("Error: unable to approve the set", &error);
        };
        let headline = "Error: nothing is approved, because the set is a different one";
        let failed = session.call_failed(headline, &error);
        session.ui.note("It is now:");
        let text = listing(&present, str::to_owned, TableWidth::Whole);
        session.ui.note(text.trim_end());
        failed
    })?;
    match query.output {
        Output::Json => {
            let document = json!({ "approvals": approvals });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table => {
            let tasks: Vec<_> = approvals.iter().map(|it| it.task_name.as_str()).collect();
            let text = format!("Approved: {} ({})", tasks.len(), tasks.join(", "));
            session.ui.note(&text);
        }
    }
    Ok(())
}

/// Runs `cts approvals reopen`.
pub(in crate::commands::task) async fn reopen(
    session: &mut Session<'_>,
    query: &QueryOptions,
    name: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let reopened = client.reopen_approvals(name).await.map_err(|error| {
        if error.is_not_found() {
            let headline = format!("Error: no effect of a task '{name}' is rejected");
            return session.fail(&headline, LIST_HINT);
        }
        session.call_failed(&format!("Error: unable to reopen '{name}'"), &error)
    })?;
    match query.output {
        Output::Json => {
            let document = json!({ "task": name, "reopened": reopened });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table => session.ui.note(&format!("'{name}' runs and asks again")),
    }
    Ok(())
}

fn failed(session: &mut Session<'_>, what: &str, id: &str, error: &CallError) -> ExitStatus {
    if error.is_not_found() {
        let headline = format!("Error: no effect of a run '{id}' needs consent");
        return session.fail(&headline, LIST_HINT);
    }
    let headline = format!("Error: unable to {what} the effect of the run");
    let failed = session.call_failed(&headline, error);
    if error.is_conflict() {
        let hint = format!("`cts approvals show {id}` shows it as it is now");
        session.ui.note(&hint);
    }
    failed
}
