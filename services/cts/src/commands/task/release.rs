//! `cts task release`.

use cts_api_client::Hold;
use serde_json::json;

use super::arguments::ServerOptions;
use super::session::{Details, ExitStatus, Session};
use super::time_text::local;
use crate::cli::groups::Output;

/// Services that are named in a table; JSON has all.
const SHOWN: usize = 10;

pub(super) async fn run(
    session: &mut Session<'_>,
    options: &ServerOptions,
    output: Output,
    name: &str,
) -> Result<(), ExitStatus> {
    let client = session.client(options, Details::Stderr)?;
    let hold = client
        .release_task(name)
        .await
        .map_err(|error| session.unanswered("release", name, &error))?;
    match (output, &hold) {
        (Output::Json, hold) => {
            let document = json!({ "task": name, "released": hold.is_some(), "hold": hold });
            session.ui.result(&format!("{document:#}\n"));
        }
        (Output::Table, None) => session.ui.info(&format!("'{name}' is not held")),
        (Output::Table, Some(hold)) => {
            session.ui.info(&format!("'{name}' is released and runs"));
            session.ui.result(&format!("{}\n", losses(hold).join("\n")));
        }
    }
    Ok(())
}

/// Since when a task is held, and why.
pub(super) fn held(hold: &Hold) -> String {
    format!("since {}\n{}", local(hold.since), losses(hold).join("\n"))
}

fn losses(hold: &Hold) -> Vec<String> {
    let shown = hold.losses.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|loss| {
            format!(
                "{}: {} of {} instances",
                loss.service, loss.now, loss.applied
            )
        })
        .collect();
    let more = hold.losses.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more services"));
    }
    lines
}
