//! The driver `terraform-cloud`: runs on a server of HCP Terraform, Terraform Enterprise or any other that speaks
//! their API (docs/hcp-terraform.md).
//!
//! A run is a job that any worker can continue: the ids of its workspace and of its remote run are recorded in
//! the run itself, before and after the remote run is requested. A worker that stops leaves the
//! remote run alone.

mod begin;
mod check;
mod confirmation;
mod decision;
mod earlier;
mod elsewhere;
mod ending;
mod follow;
mod inspection;
mod logs;
mod origin;
mod outage;
pub(crate) mod remote_attempt;
mod state;

use cts_core::RemoteRun;
use cts_core::runs::{AttemptOutcome, Plan, RunKind};
use cts_hcp_terraform::{Run, RunEnd};

use self::begin::Begun;
use self::follow::Ended;
use self::remote_attempt::{Given, RemoteAttempt};
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::attempt_report::AttemptReport;
use crate::remote_driver::RemoteError;

/// Most policies that an error names.
const MOST_POLICIES: usize = 20;

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
}
