//! One attempt at a run on a server, from its frozen input to the end of its remote run.

use std::sync::Arc;

use cts_bundle::UnpackedBundle;
use cts_core::runs::{AttemptOutcome, Plan, RunKind};
use cts_core::{RemoteRun, RemoteWorkspace, RunInput, TaskName};
use cts_hcp_terraform::{Run, RunEnd, Server};
use cts_terraform::{
    OutputLine, OutputSink, OutputStream, RenderSettings, StopSignal, TaskDirectory,
};

use super::RemoteDriver;
use super::begin::Begun;
use super::error::RemoteError;
use super::follow::Ended;
use super::start_permit::StartPermit;
use super::workspace::is_disposable;
use crate::attempt::attempt_error::AttemptError;
use crate::attempt::attempt_report::AttemptReport;
use crate::leased_run::LeasedRun;
use crate::redaction::Redactor;

/// Most policies that an error names.
const MOST_POLICIES: usize = 20;

/// An attempt whose run happens on a server. A worker has hundreds of them at a time, so they are small.
pub(crate) struct RemoteAttempt<'r> {
    pub(crate) run: &'r LeasedRun,
    pub(crate) driver: &'r RemoteDriver,
    pub(crate) kind: RunKind,
    pub(crate) task: TaskName,
    /// Names of the outputs that an apply reports.
    pub(crate) outputs: Vec<String>,
    pub(crate) directory: TaskDirectory,
    pub(crate) output: Arc<dyn OutputSink>,
    pub(crate) order: StopSignal,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) start_permit: StartPermit,
}

/// Everything that is of no use once the remote run has begun.
pub(crate) struct Given {
    pub(crate) input: RunInput,
    pub(crate) settings: Arc<RenderSettings>,
    /// Variables of the environment that providers of the task set.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) bundle: Option<UnpackedBundle>,
}

impl RemoteAttempt<'_> {
    /// Begins the remote run, or continues a remote run that another worker began, and follows it to its end.
    pub(crate) async fn make(
        &self,
        given: Box<Given>,
        findings: &mut AttemptReport,
    ) -> Result<AttemptOutcome, AttemptError> {
        let begun = Box::pin(self.begin(&given)).await?;
        drop(given);
        self.start_permit.release();
        let Some(Begun { mut remote, notes }) = begun else {
            return Ok(AttemptOutcome::Checked);
        };
        findings.remote_url.clone_from(&remote.url);
        let ended = Box::pin(self.follow(&mut remote)).await?;
        if self.kind.changes_resources() {
            Box::pin(self.report_state(&remote, findings)).await;
        }
        if self.kind.only_plans() {
            Box::pin(self.remove_disposable(&remote.workspace)).await;
        }
        Box::pin(self.outcome(&remote, &ended, &notes)).await
    }

    /// The result of a remote run that has ended.
    async fn outcome(
        &self,
        remote: &RemoteRun,
        ended: &Ended,
        notes: &[String],
    ) -> Result<AttemptOutcome, AttemptError> {
        let run = &ended.run;
        let did_end_well = matches!(ended.end, RunEnd::Applied | RunEnd::Planned);
        if ended.is_cancelled && !did_end_well {
            return Err(AttemptError::Stopped);
        }
        let url = remote.url.clone().unwrap_or_default();
        if !did_end_well && let Some(decided) = self.decision(remote, ended).await {
            return Err(decided.into());
        }
        if !did_end_well {
            return Err(RemoteError::Ended {
                step: if self.kind.only_plans() {
                    "plan"
                } else {
                    "apply"
                },
                task: self.run.lease.task_name.clone(),
                status: run.status.as_str().to_owned(),
                url,
                detail: self.detail(ended).await,
            }
            .into());
        }
        Ok(match self.kind {
            RunKind::Apply => AttemptOutcome::Applied,
            RunKind::Destroy => AttemptOutcome::Destroyed,
            RunKind::Check => AttemptOutcome::Checked,
            RunKind::Plan | RunKind::DestroyPlan => {
                let changes_present = run.has_changes.unwrap_or(true);
                let mut lines = vec![ended.plan_text.trim_end().to_owned(), String::new()];
                lines.extend(notes.iter().map(|note| format!("Note: {note}")));
                lines.push(format!("To see this run: {url}\n"));
                AttemptOutcome::Planned(Plan::new(changes_present, lines.join("\n")))
            }
        })
    }

    /// The reason of a failure, as far as the server shows it.
    async fn detail(&self, ended: &Ended) -> String {
        if ended.run.status.as_str() == "policy_soft_failed" {
            return self.failed_policies(&ended.run).await;
        }
        ended.error_text()
    }

    async fn failed_policies(&self, run: &Run) -> String {
        let results = match self.server().await {
            Ok(server) => server.policy_results(&run.id).await,
            Err(_unreachable) => return String::new(),
        };
        let results = results.unwrap_or_default().into_iter();
        let failed = results.filter(|policy| policy.status.contains("failed"));
        let lines = failed.map(|policy| format!("policy {}: {}", policy.name, policy.status));
        lines.take(MOST_POLICIES).collect::<Vec<_>>().join("\n")
    }

    /// Removes a workspace that was made only for an inspection, unless it now has resources.
    pub(super) async fn remove_disposable(&self, workspace: &RemoteWorkspace) {
        let removed = async {
            let server = self.server().await?;
            let tags = server.tags(&workspace.id).await?.into_iter().collect();
            if is_disposable(&tags) {
                server.safe_delete_workspace(&workspace.id).await?;
            }
            Ok::<_, RemoteError>(())
        };
        if let Err(error) = removed.await {
            tracing::info!(
                task_name = self.run.lease.task_name,
                workspace = workspace.name,
                error = %cts_core::Chain(&error),
                "a workspace that an inspection has made may be left"
            );
        }
    }

    pub(super) async fn server(&self) -> Result<Server, RemoteError> {
        self.driver.server(&self.run.shared.values).await
    }

    /// Adds a line of cts to the log of the run.
    pub(super) fn say(&self, text: &str) {
        let line = OutputLine::new(OutputStream::Stdout, format!("cts: {text}"));
        self.output.line(line);
    }
}
