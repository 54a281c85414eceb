//! Errors of the commands about runs.

use cts_api_client::CallError;

use crate::commands::task::session::{ExitStatus, Session};

pub(super) fn unknown(session: &mut Session<'_>, id: &str) -> ExitStatus {
    let headline = format!("Error: there is no run '{id}'");
    let hint = "`cts runs list` shows the runs that there are";
    session.fail(&headline, hint)
}

pub(super) fn failed(session: &mut Session<'_>, what: &str, error: &CallError) -> ExitStatus {
    let headline = format!("Error: unable to {what}");
    session.call_failed(&headline, error)
}
