//! `cts runs cancel`.

use cts_api_client::{ApiClient, Run};
use cts_proto::json::Word as _;
use cts_proto::run::v1::{RunKind, RunStatus};
use serde_json::json;

use super::arguments::ServerOptions;
use super::prompt::ask;
use super::runs::{failed, summary, unknown};
use super::session::{Details, ExitStatus, Session, pause};
use crate::cli::groups::Output;

/// How a run is cancelled.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// Terraform is ended at once.
    pub(super) force: bool,
    /// Do not ask.
    pub(super) auto_approve: bool,
    /// Do not wait until it has ended.
    pub(super) detach: bool,
}

pub(super) async fn run(
    session: &mut Session<'_>,
    options: &ServerOptions,
    output: Output,
    id: &str,
    how: How,
) -> Result<(), ExitStatus> {
    let client = session.client(options, Details::Stderr)?;
    if how.force && !how.auto_approve && !is_approved(session, id).await? {
        return Ok(());
    }
    let run = client.cancel_run(id, how.force).await.map_err(|error| {
        if error.is_not_found() {
            return unknown(session, id);
        }
        failed(session, "cancel the run", &error)
    })?;
    let run = if run.status() == RunStatus::Running && !how.detach {
        ended(session, &client, run).await?
    } else {
        run
    };
    session.ui.note(&what_became_of(&run));
    session.ui.result(&match output {
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
            let text = format!("run {} waits for {}", run.id, run.waiting_for);
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
