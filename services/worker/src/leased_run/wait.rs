//! A leased run that waits for a condition outside of cts: without a slot, without a deadline, and until the
//! condition comes, lapses, or its task wants something else.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::runs::{Resumed, WaitEnd};
use cts_rpc::CallFailure;
use cts_terraform::StopSignal;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};

use super::LeasedRun;
use super::wait_error::WaitError;
use crate::calls::RETRIES;
use crate::pending_approval::{GivenUp, PendingApproval};

/// Longest time for giving up the condition.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Pause between two polls of whether the concurrency group is free.
const GROUP_POLL: Duration = Duration::from_secs(1);

impl LeasedRun {
    /// Waits, and returns when the run may apply, in a slot again.
    pub(crate) async fn wait(
        &self,
        order: &StopSignal,
        awaited: &dyn PendingApproval,
    ) -> Result<(), WaitError> {
        let name = awaited.name();
        let run = self.lease.run;
        tracing::info!(task_name = self.lease.task_name, run.id = %run, waiting_for = name, "the run waits");
        let came = tokio::select! {
            biased;
            stopped = self.stopped(order) => Err(stopped),
            came = self.await_it(awaited, &name) => came,
        };
        match &came {
            Ok(()) => {
                tracing::info!(task_name = self.lease.task_name, run.id = %run, "the run goes on");
            }
            Err(WaitError::Rejected { .. }) => {}
            Err(error) => {
                tracing::info!(task_name = self.lease.task_name, run.id = %run, reason = %error, "the run waits no longer");
                let why = self.given_up(error);
                if timeout(GIVE_UP, awaited.give_up(why)).await.is_err() {
                    tracing::warn!(task_name = self.lease.task_name, run.id = %run, waiting_for = name, "what the run waited for cannot be given up");
                }
            }
        }
        came
    }

    fn given_up(&self, error: &WaitError) -> GivenUp {
        let is_unwanted = match error {
            WaitError::Ended(end) => end.is_final(),
            WaitError::Stopped | WaitError::Rejected { .. } => self.is_cancelled(),
        };
        if is_unwanted {
            GivenUp::Unwanted
        } else {
            GivenUp::HandedOver
        }
    }

    async fn await_it(&self, awaited: &dyn PendingApproval, name: &str) -> Result<(), WaitError> {
        let number = self.next_wait();
        // Until the scheduler knows that the run waits, no event may count as the end of the wait.
        if let Some(end) = self.suspend(number, name).await? {
            return Err(WaitError::Ended(end));
        }
        self.leave_slot();
        let go_on = async {
            awaited.came().await.map_err(|lapsed| WaitError::Rejected {
                name: name.to_owned(),
                lapsed,
            })?;
            self.go_on(number).await
        };
        tokio::select! {
            biased;
            ended = self.until_ended(number) => match ended? {},
            goes_on = go_on => goes_on,
        }
    }

    /// Takes a slot, and waits until the scheduler lets the run continue.
    async fn go_on(&self, number: u32) -> Result<(), WaitError> {
        loop {
            self.take_slot().await?;
            match answered(|| self.shared.scheduler.resume(&self.lease, number)).await? {
                Resumed::GoesOn => return Ok(()),
                Resumed::Ended(end) => return Err(WaitError::Ended(end)),
                Resumed::GroupBusy => {
                    self.leave_slot();
                    sleep(GROUP_POLL).await;
                }
            }
        }
    }

    /// Returns when the worker drains or stops, or the lease is lost.
    async fn stopped(&self, order: &StopSignal) -> WaitError {
        tokio::select! {
            () = order.cancelled() => {}
            () = self.drain.cancelled() => {}
        }
        WaitError::Stopped
    }

    /// Returns when the run is to wait no longer.
    async fn until_ended(&self, number: u32) -> Result<Infallible, WaitError> {
        loop {
            if let Some(end) = self.suspend(number, "").await? {
                return Err(WaitError::Ended(end));
            }
        }
    }

    async fn suspend(&self, number: u32, name: &str) -> Result<Option<WaitEnd>, WaitError> {
        answered(|| self.shared.scheduler.suspend(&self.lease, number, name)).await
    }
}

/// Repeats the call until an answer comes. If a scheduler answers that the lease is over, the wait ends.
async fn answered<T, F>(call: impl Fn() -> F) -> Result<T, WaitError>
where
    F: Future<Output = Result<T, Status>>,
{
    let mut pauses = RETRIES.pauses(fastrand::f64);
    loop {
        match call().await {
            Ok(answer) => return Ok(answer),
            Err(status) if status.code() == Code::FailedPrecondition => {
                return Err(WaitError::Stopped);
            }
            Err(status) => {
                tracing::debug!(error = %CallFailure(&status), "cannot say that a run waits");
                sleep(pauses.next_pause()).await;
            }
        }
    }
}
