//! Runs that are to end, and end once their remote run has ended (docs/hcp-terraform.md#the-end-of-a-remote-run).

use std::sync::Arc;

use cts_core::runs::{AttemptOutcome, CancelOrder, RunKind};
use cts_core::{Chain, RemoteRun, RemoteRuns, RunId, TaskName, TaskRemoteRun};
use cts_hcp_terraform::{ApiError, RunEnd, RunPhase};
use cts_rpc::ConversionError;
use cts_runtime::{Outage, log_failure};
use cts_terraform::{OutputSink, StopSignal, TaskDirectory};
use tokio::time::sleep;

use super::begin::{find, key};
use super::follow::Interruption;
use super::remote_attempt::RemoteAttempt;
use crate::leased_run::LeasedRun;
use crate::outcome::attempt_error::AttemptError;
use crate::redaction::Redactor;
use crate::remote_driver::RemoteDriver;
use crate::remote_driver::error::{RemoteError, text};
use crate::remote_driver::progress::{Polled, pause};
use crate::remote_driver::start_permit::StartPermit;
use crate::shared::Shared;

impl<'r> RemoteAttempt<'r> {
    /// The lease of a run whose remote run is to be ended. Neither the input of the run nor its directory is needed.
    #[expect(
        clippy::result_large_err,
        reason = "made once for each attempt, and passed on"
    )]
    pub(crate) fn ending(
        (shared, run, driver): (&Shared, &'r LeasedRun, &'r RemoteDriver),
        kind: RunKind,
        output: Arc<dyn OutputSink>,
        order: StopSignal,
    ) -> Result<Self, AttemptError> {
        let options = &shared.options;
        let name = &run.lease.task_name;
        let task = TaskName::new(name.as_str()).map_err(|_invalid| ConversionError::Invalid {
            field: "Lease.task_name",
            value: name.clone(),
        });
        Ok(Self {
            run,
            driver,
            kind,
            task: task?,
            outputs: Vec::new(),
            directory: TaskDirectory::new(&options.working_dir, &options.working_dir),
            output,
            order,
            redactor: Arc::new(Redactor::new(options.secrets())?),
            start_permit: StartPermit::default(),
        })
    }

    /// Ends the remote run of the run, and an earlier one of the task: each is discarded or cancelled, or waited for
    /// where that comes too late. The run has succeeded if its input was applied in spite of that.
    pub(crate) async fn end_open(&self) -> Result<AttemptOutcome, AttemptError> {
        let lease = &self.run.lease;
        let known = self.run.shared.scheduler.remote_runs(lease).await;
        let known = known.map_err(RemoteError::from)?;
        let number = known.own.as_ref().map_or(0, |own| own.number);
        let newest = known.newest.clone();
        let newest = newest.filter(|newest| newest.run != lease.run);
        let earlier = newest.map(|TaskRemoteRun { run, remote }| {
            // Recorded at this run from now on, which has had as many remote runs as before.
            (run, remote.number, RemoteRun { number, ..remote })
        });
        let own = known.own.clone();
        let own = own.map(|own| (lease.run, own.number, own));
        let mut is_applied = false;
        for (run, key_number, mut remote) in own.into_iter().chain(earlier) {
            if !remote.is_open() {
                continue;
            }
            let input = remote.input.map(|input| input.to_string());
            let is_of_input = input.as_ref() == Some(&lease.input.hash);
            let end = self.end_one(&known, (run, key_number), &mut remote).await?;
            is_applied |= is_of_input && end == Some(RunEnd::Applied);
        }
        match self.kind {
            RunKind::Apply if is_applied => Ok(AttemptOutcome::Applied),
            RunKind::Destroy if is_applied => Ok(AttemptOutcome::Destroyed),
            _ => Err(AttemptError::Stopped),
        }
    }

    /// Ends a remote run that was `requested` by a run under this number, and returns the end; `None` if the server
    /// does not have the remote run.
    async fn end_one(
        &self,
        known: &RemoteRuns,
        requested: (RunId, u32),
        remote: &mut RemoteRun,
    ) -> Result<Option<RunEnd>, AttemptError> {
        let _polled = Polled::new(self.driver);
        let mut outage = Outage::default();
        // Force alone says more.
        let mut ordered = Some(CancelOrder::Interrupt);
        let mut looks = 0;
        loop {
            match Box::pin(self.end_step(known, requested, remote, ordered)).await {
                Ok(Some(RunPhase::Ended(end))) => return Ok(Some(end)),
                Ok(Some(_goes_on)) => {
                    outage.works();
                }
                Ok(None) => {
                    remote.ended = true;
                    remote.waiting_for = None;
                    self.record(remote).await?;
                    return Ok(None);
                }
                Err(error) if error.is_outage() || error.is_unknown() => {
                    log_failure!(outage, task_name = self.run.lease.task_name, error = %Chain(&error), "the remote run cannot be ended for now");
                    // An earlier remote run without an id can only be found by the run that requested it.
                    if remote.id.is_some() {
                        let reason = format!("the server: {}", text(&error));
                        self.note_wait(remote, Some(reason)).await;
                    }
                }
                Err(error) => {
                    if error.is_unauthorized() {
                        self.driver.forget_server().await;
                    }
                    return Err(error.into());
                }
            }
            if ordered == Some(CancelOrder::Force) {
                let url = remote.url.as_deref().unwrap_or_default();
                self.say(&format!("the remote run is given up, and may go on: {url}"));
                return Err(AttemptError::Stopped);
            }
            tokio::select! {
                () = sleep(pause(self.driver, looks)) => looks += 1,
                interruption = self.interruption(ordered) => match interruption {
                    Interruption::Leave => return Err(AttemptError::Stopped),
                    Interruption::Cancel(order) => ordered = Some(order),
                },
            }
        }
    }

    /// Reads the remote run once, and requests its end from the server as far as possible.
    async fn end_step(
        &self,
        known: &RemoteRuns,
        (run, number): (RunId, u32),
        remote: &mut RemoteRun,
        ordered: Option<CancelOrder>,
    ) -> Result<Option<RunPhase>, RemoteError> {
        let server = self.server().await?;
        self.refuse_elsewhere(&server, known).await?;
        let found = match &remote.id {
            Some(id) => match server.run(id).await {
                Ok(found) => Some(found),
                Err(ApiError::NotFound(_)) => None,
                Err(error) => return Err(error.into()),
            },
            // Its worker has not learned the answer of the server.
            None => find(&server, &remote.workspace.id, &key(run, number)).await?,
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let phase = found.phase();
        let has_ended = matches!(phase, RunPhase::Ended(_));
        if has_ended || found.status.as_str() != remote.status || remote.waiting_for.is_some() {
            self.say(&format!(
                "the remote run {} is to end, and is {}",
                found.id,
                found.status.as_str()
            ));
            remote.ended = has_ended;
            remote.waiting_for = None;
            self.note(remote, &found).await?;
        }
        if !has_ended {
            self.cancel_remote_run(remote, &found, ordered).await;
        }
        Ok(Some(phase))
    }
}
