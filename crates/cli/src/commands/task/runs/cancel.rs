//! `cts runs cancel`.

use cts_api_client::{ApiClient, Run};
use cts_proto::json::Word as _;
use cts_proto::run::v1::{RunKind, RunStatus};
use serde_json::json;

use super::failure::{failed, unknown};
use super::run_id::{is_beginning, only};
use super::summary::summary;
use crate::arguments::{Cancel, Output};
use crate::commands::task::prompt::ask;
use crate::commands::task::session::{ExitStatus, Session, pause};
use crate::commands::time_text::with_local_times;

pub(crate) async fn run(session: &mut Session<'_>, options: &Cancel) -> Result<(), ExitStatus> {
    let Cancel { query, id, .. } = options;
    let client = session.client(&query.client)?;
    if options.force && !options.auto_approve && !is_approved(session, id).await? {
        return Ok(());
    }
    let cancelled = match client.cancel_run(id, options.force).await {
        Err(error) if error.is_not_found() && is_beginning(id) => {
            let id = only(session, &client, id).await?;
            client.cancel_run(&id, options.force).await
        }
        cancelled => cancelled,
    };
    let run = cancelled.map_err(|error| {
        if error.is_not_found() {
            return unknown(session, id);
        }
        failed(session, "cancel the run", &error)
    })?;
    let run = if run.status() == RunStatus::Running && !options.detach {
        ended(session, &client, run).await?
    } else {
        run
    };
    session.ui.note(&what_became_of(&run));
    session.ui.result(&match query.output {
        Output::Json => format!("{:#}\n", json!(run)),
        Output::Table => summary(&run),
    });
    Ok(())
}

async fn is_approved(session: &mut Session<'_>, id: &str) -> Result<bool, ExitStatus> {
    let ui = &mut session.ui;
    ui.info(&format!(
        "Do you want to end Terraform in run {id} by force?"
    ));
    ui.output(" - It is terminated at once, and killed 5 seconds later.");
    ui.output(" - STATE MAY BE LOST: what it has made and not written down is unknown to Terraform from then on.");
    ui.output(" - The lock of the state may stay behind.");
    ask(session, "Cancelled nothing").await
}

/// Waits until the run has ended or is put back, and reports, once for each reason, why that takes time.
async fn ended(
    session: &mut Session<'_>,
    client: &ApiClient,
    mut run: Run,
) -> Result<Run, ExitStatus> {
    let mut said = String::new();
    while run.status() == RunStatus::Running {
        if !run.waiting_for.is_empty() && run.waiting_for != said {
            let reason = with_local_times(&run.waiting_for);
            let text = format!("run {} waits for {reason}", run.id);
            session.ui.note(&text);
            said.clone_from(&run.waiting_for);
        }
        pause().await;
        let answer = client.run(&run.id).await;
        run = answer.map_err(|error| failed(session, "see how the run ends", &error))?;
    }
    Ok(run)
}

fn what_became_of(run: &Run) -> String {
    let (id, task) = (&run.id, &run.task_name);
    match run.status() {
        RunStatus::Running => format!("run {id} of '{task}' is being stopped"),
        RunStatus::Queued if run.kind() == RunKind::Destroy => format!(
            "the destruction of '{task}' is suspended: `cts task delete {task}` goes on with it, and with -retain what is left stays"
        ),
        RunStatus::Succeeded => format!("run {id} of '{task}' had succeeded before it stopped"),
        status => format!(
            "run {id} of '{task}' is cancelled, its status is {}",
            status.word()
        ),
    }
}
