//! `cts task enable` (docs/cli.md#cts-task).

use super::prompt::{Action, approve_plan};
use super::session::{ExitStatus, Session};
use crate::arguments::Enable;

pub(super) async fn run(session: &mut Session<'_>, options: &Enable) -> Result<(), ExitStatus> {
    let name = session.one_name("enable", &options.names)?;
    session
        .ui
        .info(&format!("Inspecting the changes for enabling '{name}'"));
    session.ui.output("Generating the plan...");
    session.ui.output("");
    let client = session.client(&options.client)?;
    let refused =
        |session: &mut Session<'_>, headline: &str, error| session.refused(headline, &error);

    let inspection = session
        .unless_busy(&client, options.wait, name, async || {
            client.inspect_enabling(name).await
        })
        .await;
    let inspection = inspection.map_err(|error| {
        let headline = format!("Error: unable to generate plan for '{name}'");
        refused(session, &headline, error)
    })?;
    session.ui.output(&inspection.plan);
    if let Some(url) = inspection.url.filter(|url| !url.is_empty()) {
        session.ui.output(&format!("Terraform Cloud run: {url}"));
    }
    session.ui.output("");

    if !inspection.changes_present {
        let answer = session
            .unless_busy(&client, options.wait, name, async || {
                client.enable_task(name).await
            })
            .await;
        answer.map_err(|error| {
            refused(session, &format!("Error: unable to enable '{name}'"), error)
        })?;
        session.ui.info(&format!("'{name}' enable complete!"));
        return Ok(());
    }
    if !options.auto_approve && !approve_plan(session, Action::Enabling, name).await? {
        return Ok(());
    }
    session
        .ui
        .info(&format!("Enabling and running '{name}'..."));
    session.ui.output("");
    let answer = session
        .unless_busy(&client, options.wait, name, async || {
            client.run_task(name).await
        })
        .await;
    answer.map_err(|error| {
        let headline = format!("Error: unable to enable and run '{name}'");
        refused(session, &headline, error)
    })?;
    session.ui.info(&format!("'{name}' enable complete!"));
    Ok(())
}
