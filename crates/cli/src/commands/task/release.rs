//! `cts task release`.

pub(super) mod brake;

use cts_api_client::Hold;
use cts_proto::task::v1::Loss;
use serde_json::json;

use super::session::{ExitStatus, Session};
use crate::arguments::{Output, QueryOptions, Release};
use crate::commands::table::table;
use crate::commands::terminal_text::on_one_line;
use crate::commands::time_text::{local, moment};

/// Services that `show` names; JSON has all.
const SHOWN: usize = 10;

pub(super) async fn run(session: &mut Session<'_>, options: &Release) -> Result<(), ExitStatus> {
    match &options.name {
        Some(name) => one(session, &options.query, name).await,
        None => brake::release(session, options).await,
    }
}

async fn one(
    session: &mut Session<'_>,
    query: &QueryOptions,
    name: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(&query.client)?;
    let released = async {
        // Only the losses that are shown are released: if more is lost in between, the user decides again.
        let seen = client.task_status(name).await?.hold;
        let seen = seen.map_or_else(Vec::new, |hold| hold.losses.clone());
        client.release_task(name, &seen).await
    };
    let hold = released
        .await
        .map_err(|error| session.unanswered("release", name, &error))?;
    match (query.output, hold) {
        (Output::Json, hold) => {
            let document = json!({ "task": name, "released": hold.is_some(), "hold": hold });
            session.ui.result(&format!("{document:#}\n"));
        }
        (Output::Table, None) => session.ui.note(&format!("'{name}' is not blocked")),
        (Output::Table, Some(hold)) => {
            session
                .ui
                .note(&format!("'{name}' is released and runs with what is left:"));
            let text = table(
                ["SERVICE", "INSTANCES", "APPLIED"],
                hold.losses.iter().map(row),
                query.wide.width(),
            );
            session.ui.result(&text);
        }
    }
    Ok(())
}

fn row(loss: &Loss) -> [String; 3] {
    [
        loss.service.clone(),
        loss.now.to_string(),
        loss.applied.to_string(),
    ]
}

/// Since when a task is blocked, and why.
pub(super) fn held(hold: &Hold) -> String {
    let since = moment(hold.since).map(|at| format!("since {}", local(at)));
    let mut lines: Vec<_> = since.into_iter().collect();
    if hold.by_brake {
        lines.push("by the brake of the fleet".to_owned());
    }
    lines.extend(hold.losses.iter().take(SHOWN).map(|loss| {
        let service = on_one_line(&loss.service);
        format!("{service}: {} of {} instances", loss.now, loss.applied)
    }));
    let more = hold.losses.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more services"));
    }
    lines.join("\n")
}
