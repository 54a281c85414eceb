//! A remote run, followed to its end (docs/hcp-terraform.md#the-life-of-a-run).
//!
//! Only a lease and a light slot are held here. If the server is unavailable, or refuses the token, the remote run does
//! not end: the worker tries again, and reports that.

use cts_core::runs::CancelOrder;
use cts_core::{Chain, RemoteRun};
use cts_hcp_terraform::{ApiError, Approval, Run, RunEnd, RunPhase, Server};
use cts_runtime::{Outage, log_failure};
use cts_terraform::Step;
use tokio::time::{Instant, sleep};

use super::confirmation::{Confirmation, Course};
use super::logs::StageLog;
use super::remote_attempt::RemoteAttempt;
use crate::outcome::attempt_error::AttemptError;
use crate::remote_driver::error::{RemoteError, text};
use crate::remote_driver::progress::{Polled, pause, waiting_for};

/// A remote run that has ended.
pub(super) struct Ended {
    pub(super) run: Run,
    pub(super) end: RunEnd,
    /// Whether cts has cancelled the remote run.
    pub(super) is_cancelled: bool,
    pub(super) plan_text: String,
    apply_text: String,
}

/// The logs of a remote run.
struct Logs {
    plan: StageLog,
    apply: StageLog,
    begun: Instant,
    planned: Option<Instant>,
}

/// Why following stops before the end.
pub(super) enum Interruption {
    /// The remote run is left to another worker, or to this worker later.
    Leave,
    Cancel(CancelOrder),
}

impl Ended {
    /// The end of the log of the last stage.
    pub(super) fn text(&self) -> &str {
        if self.apply_text.is_empty() {
            &self.plan_text
        } else {
            &self.apply_text
        }
    }

    /// The end of the log of the stage that failed, from its first error on.
    pub(super) fn error_text(&self) -> String {
        let text = self.text();
        let error = text.find("Error: ").map_or("", |begin| &text[begin..]);
        error.trim_end().to_owned()
    }
}

impl RemoteAttempt<'_> {
    /// Follows the remote run to its end. Its logs become the output of the run.
    ///
    /// # Cancellation
    /// May be dropped at any time: the remote run goes on, and can be followed again.
    pub(super) async fn follow(&self, remote: &mut RemoteRun) -> Result<Ended, AttemptError> {
        let Some(id) = remote.id.clone() else {
            return Err(AttemptError::Stopped);
        };
        let _polled = Polled::new(self.driver);
        let mut logs = Logs::new();
        let mut outage = Outage::default();
        let mut ordered = None;
        let mut looks = 0;
        loop {
            // The memory of the look is free before anything is waited for.
            let looked = Box::pin(self.look(&id, remote, &mut logs)).await;
            match looked {
                Ok(run) => {
                    outage.works();
                    match run.phase() {
                        RunPhase::Ended(end) => {
                            return Ok(logs.ended(run, end, ordered.is_some()));
                        }
                        RunPhase::NeedsPerson(approval)
                            if ordered.is_none() && is_for_person(&run, approval) =>
                        {
                            let confirmation = Confirmation::new(self, remote, approval);
                            let begun = Instant::now();
                            let waited = Box::pin(self.run.wait(&self.order, &confirmation)).await;
                            *self.run.waited.lock() += begun.elapsed();
                            let course = confirmation.course();
                            Box::pin(self.end_wait(remote, course)).await;
                            if course != Course::GoesOn {
                                waited?;
                            }
                            looks = 0;
                            continue;
                        }
                        _ => Box::pin(self.cancel_remote_run(remote, &run, ordered)).await,
                    }
                }
                Err(RemoteError::Api(ApiError::NotFound(_))) => {
                    let url = remote.url.clone().unwrap_or_default();
                    return Err(RemoteError::Gone { id, url }.into());
                }
                Err(error) => {
                    if error.is_unauthorized() {
                        Box::pin(self.driver.forget_server()).await;
                    }
                    log_failure!(outage, task_name = self.run.lease.task_name, remote_run = id, error = %Chain(&error), "the remote run cannot be followed for now");
                    if ordered == Some(CancelOrder::Force) {
                        let url = remote.url.as_deref().unwrap_or_default();
                        self.say(&format!(
                            "the server cannot be told to stop the remote run, which may go on: {url}"
                        ));
                        return Err(AttemptError::Stopped);
                    }
                    let reason = format!("the server: {}", text(&error));
                    Box::pin(self.note_wait(remote, Some(reason))).await;
                }
            }
            tokio::select! {
                () = sleep(pause(self.driver, looks)) => looks += 1,
                interruption = self.interruption(ordered) => match interruption {
                    Interruption::Leave => return Err(AttemptError::Stopped),
                    Interruption::Cancel(order) => {
                        ordered = Some(order);
                        looks = 0;
                    }
                },
            }
        }
    }

    /// Reads the remote run once, with what is new in its logs.
    async fn look(
        &self,
        id: &str,
        remote: &mut RemoteRun,
        logs: &mut Logs,
    ) -> Result<Run, RemoteError> {
        let server = self.server().await?;
        let run = server.run(id).await?;
        let reason = self.reason(&server, &run).await?;
        if run.status.as_str() != remote.status || reason != remote.waiting_for {
            remote.waiting_for = reason;
            remote.ended = matches!(run.phase(), RunPhase::Ended(_));
            self.note(remote, &run).await?;
            tracing::debug!(
                task_name = self.run.lease.task_name,
                remote_run = id,
                status = run.status.as_str(),
                "the remote run goes on"
            );
        }
        logs.read(self, &server, &run).await?;
        Ok(run)
    }

    /// Why the remote run does not begin.
    async fn reason(&self, server: &Server, run: &Run) -> Result<Option<String>, RemoteError> {
        if run.phase() != RunPhase::Waiting {
            return Ok(None);
        }
        let Some(id) = run.relationships.workspace.id() else {
            return Ok(None);
        };
        let workspace = server.workspace(id).await?;
        Ok(waiting_for(&workspace, run))
    }

    /// Cancels the remote run as ordered, as far as the server allows it. Called after each look, because a force may
    /// be allowed only some time after a gentle stop.
    pub(super) async fn cancel_remote_run(
        &self,
        remote: &mut RemoteRun,
        run: &Run,
        ordered: Option<CancelOrder>,
    ) {
        const COMMENT: &str = "cts: the run was cancelled";
        let Some(order) = ordered else { return };
        let Ok(server) = self.server().await else {
            return;
        };
        if let Err(error) = self.note_given_up(remote).await {
            tracing::debug!(task_name = self.run.lease.task_name, error = %Chain(&error), "the end of the remote run is not noted");
            return;
        }
        let (id, actions) = (run.id.as_str(), &run.actions);
        let done = if actions.is_discardable {
            server.discard_run(id, COMMENT).await
        } else if actions.is_force_cancelable && order == CancelOrder::Force {
            server.force_cancel_run(id, COMMENT).await
        } else if actions.is_cancelable {
            server.cancel_run(id, COMMENT).await
        } else {
            Ok(())
        };
        if let Err(error) = done {
            tracing::warn!(task_name = self.run.lease.task_name, remote_run = id, error = %Chain(&error), "the remote run cannot be cancelled for now");
        }
    }

    /// Records that cts ends the remote run, before the request to the server: any other end is the decision of a user.
    pub(super) async fn note_given_up(&self, remote: &mut RemoteRun) -> Result<(), RemoteError> {
        if !remote.given_up {
            let noted = RemoteRun {
                given_up: true,
                ..remote.clone()
            };
            self.record(&noted).await?;
            remote.given_up = true;
        }
        Ok(())
    }

    pub(super) async fn interruption(&self, ordered: Option<CancelOrder>) -> Interruption {
        tokio::select! {
            biased;
            () = self.order.must_end() => Interruption::Leave,
            () = self.run.drain.cancelled() => Interruption::Leave,
            order = self.run.next_order(ordered) => Interruption::Cancel(order),
        }
    }

    /// Records why the remote run does not go on. The record is for people: without it the run goes on, too.
    pub(super) async fn note_wait(&self, remote: &mut RemoteRun, reason: Option<String>) {
        if remote.waiting_for == reason {
            return;
        }
        remote.waiting_for = reason;
        if let Err(error) = self.record(remote).await {
            tracing::debug!(task_name = self.run.lease.task_name, error = %Chain(&error), "the wait is not recorded");
        }
    }

    async fn end_wait(&self, remote: &mut RemoteRun, course: Course) {
        remote.waiting_for = None;
        if let Course::GivenUp { ended } = course {
            remote.given_up = true;
            remote.ended = ended;
        }
        if let Err(error) = self.record(remote).await {
            tracing::debug!(task_name = self.run.lease.task_name, error = %Chain(&error), "the end of the wait is not recorded");
        }
    }
}

/// Whether a user decides. The server confirms the plan of a run with auto apply itself, a moment later.
fn is_for_person(run: &Run, approval: Approval) -> bool {
    !(run.auto_apply && matches!(approval, Approval::Confirmation))
}

impl Logs {
    fn new() -> Self {
        Self {
            plan: StageLog::new(Step::Plan),
            apply: StageLog::new(Step::Apply),
            begun: Instant::now(),
            planned: None,
        }
    }

    /// Reads the logs of the stages that run or have ended. While many runs are followed, a log is read at the end of
    /// its stage only.
    async fn read(
        &mut self,
        attempt: &RemoteAttempt<'_>,
        server: &Server,
        run: &Run,
    ) -> Result<(), RemoteError> {
        let phase = run.phase();
        let has_ended = matches!(phase, RunPhase::Ended(_));
        let is_planned = has_ended
            || matches!(
                phase,
                RunPhase::NeedsPerson(_) | RunPhase::MovingOn | RunPhase::Applying
            );
        let is_live = attempt.driver.reads_live();
        let plans = is_planned || is_live && phase == RunPhase::Planning;
        if plans && self.planned.is_none() {
            if let Some(id) = run.relationships.plan.id()
                && let Some(url) = server.plan_log(id).await?
            {
                self.plan
                    .read(server, &url, &attempt.output, is_planned)
                    .await?;
            }
            if is_planned {
                self.planned = Some(Instant::now());
                self.plan.end(&attempt.output, self.begun.elapsed());
            }
        }
        let applies = has_ended || is_live && phase == RunPhase::Applying;
        if applies
            && let Some(id) = run.relationships.apply.id()
            && let Some(url) = server.apply_log(id).await?
        {
            self.apply
                .read(server, &url, &attempt.output, has_ended)
                .await?;
            if has_ended && !self.apply.tail().is_empty() {
                let since = self.planned.unwrap_or(self.begun);
                self.apply.end(&attempt.output, since.elapsed());
            }
        }
        Ok(())
    }

    fn ended(self, run: Run, end: RunEnd, is_cancelled: bool) -> Ended {
        Ended {
            run,
            end,
            is_cancelled,
            plan_text: self.plan.tail().to_owned(),
            apply_text: self.apply.tail().to_owned(),
        }
    }
}
