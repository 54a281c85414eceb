//! `cts task enable` (docs/cli.md#cts-task).

use cts_api_client::NeededConsent;

use super::prompt::{Action, approve_plan};
use super::session::{ExitStatus, Session};
use crate::arguments::Enable;
use crate::commands::terminal_text::on_one_line;

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
    let approve = inspection.consent.and_then(|consent| {
        session
            .ui
            .output(&consent_text(&consent, options.auto_approve));
        session.ui.output("");
        let approves = consent.may_approve && !options.auto_approve;
        Some(consent.effect).filter(|effect| approves && !effect.is_empty())
    });

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
        .unless_busy(&client, options.wait, name, async || match &approve {
            Some(effect) => client.run_approved_task(name, effect).await,
            None => client.run_task(name, true).await.map(drop),
        })
        .await;
    answer.map_err(|error| {
        let headline = format!("Error: unable to enable and run '{name}'");
        refused(session, &headline, error)
    })?;
    session.ui.info(&format!("'{name}' enable complete!"));
    Ok(())
}

/// Returns the lines that tell why the run needs consent, and whether the answer of a person approves its effect.
fn consent_text(consent: &NeededConsent, is_automatic: bool) -> String {
    let reason = on_one_line(&consent.reason);
    let what = if consent.effect.is_empty() {
        "The plan was not read to its end, so it cannot be approved: the run will fail."
    } else if !consent.may_approve {
        "Your role cannot approve it: the task is enabled, and its run waits (`cts approvals list`)."
    } else if is_automatic {
        "-auto-approve approves no effect: the task is enabled, and its run waits (`cts approvals list`)."
    } else {
        "With 'yes' you approve exactly this effect."
    };
    format!("The run would wait for consent: {reason}. {what}")
}
