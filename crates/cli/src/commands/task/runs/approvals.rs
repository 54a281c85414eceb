//! `cts approvals`: consent to the effects of plans.

pub mod text;

use cts_api_client::{Approvals, CallError};
use cts_core::ApprovalRule;
use serde_json::json;

use self::text::{approved, decided, differences, document, listing, shown};
use super::run_id::{ShownIds, run_id};
use crate::arguments::{Approve, Output, QueryOptions, TableWidth};
use crate::commands::task::session::{ExitStatus, Session};

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
            let text = listed(&list, |id| ids.short(id).to_owned(), width);
            session.ui.result(&text);
        }
    }
    Ok(())
}

/// The present effects as a table.
fn listed(list: &Approvals, shown_id: impl Fn(&str) -> String, width: TableWidth) -> String {
    let effects = list.approvals.iter().map(|approval| &**approval);
    listing(effects, &list.set, shown_id, width)
}

/// The rule in force for a task, and where it was asked for.
pub(in crate::commands::task) async fn rule(
    session: &mut Session<'_>,
    query: &QueryOptions,
    name: &str,
) -> Result<(ApprovalRule, String), ExitStatus> {
    let client = session.client(&query.client)?;
    let task = client.task(name).await;
    let task = task.map_err(|error| session.unanswered("find the rule of", name, &error))?;
    // Without a rule the answer has none.
    let word = task.approval.as_deref().unwrap_or("never");
    let rule = word.parse().map_err(|_unknown| {
        let detail = format!("{word:?} is a rule that this version does not know");
        session.fail("Error: unable to find the rule of the task", &detail)
    })?;
    Ok((rule, client.address()))
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
        Output::Json => document(&approval, plan.as_ref()),
        Output::Table => shown(&approval, plan.as_ref()),
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
        place,
        effect,
        set,
        comment,
        id,
    } = options;
    let query = &place.query;
    if let Some(set) = set {
        return approve_set(session, query, (id, &set), &comment).await;
    }
    let effect = effect.unwrap_or_default();
    decide(session, query, &id, (&effect, false), &comment).await
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
    let answer = client.decide_approval(&id, decision, comment).await;
    let word = if rejects { "reject" } else { "approve" };
    let approval = answer.map_err(|error| failed(session, word, &id, &error))?;
    session.ui.note(&decided(&approval, rejects));
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
    let answer = client.approve_set(&[pattern], set, comment).await;
    let approvals = answer.map_err(|error| {
        let Some(present) = Approvals::of_conflict(&error) else {
            return session.call_failed("Error: unable to approve the set", &error);
        };
        let headline = "Error: nothing is approved, because the set is a different one";
        let failed = session.call_failed(headline, &error);
        for line in differences([&present.came, &present.went, &present.changed]) {
            session.ui.note(&line);
        }
        session.ui.note("It is now:");
        let text = listed(&present, str::to_owned, TableWidth::Whole);
        for line in text.trim_end().lines() {
            session.ui.note(line);
        }
        failed
    })?;
    match query.output {
        Output::Json => {
            let document = json!({ "approvals": approvals });
            session.ui.result(&format!("{document:#}\n"));
        }
        Output::Table => {
            let text = approved(approvals.iter().map(|approval| &**approval));
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
