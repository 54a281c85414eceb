//! The command `show` for a saved plan (docs/terraform.md#saved-plans).

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::attempt::Attempt;
use crate::commands::outcome::{exit_error, failed};
use crate::commands::saved_plan::SavedPlan;
use crate::commands::terraform::Terraform;
use crate::error::{CommandError, CommandFailure};
use crate::output::Discard;
use crate::plan::{Limits, PlanContext, PlanPipe, ReadEnd, ReadPlan, TOO_SLOW, read};
use crate::process::{PIPE_GRACE, StdoutUse};
use crate::step::{PLAN_READ, Step};

impl Terraform {
    /// Reads a saved plan as data, for at most a minute. The output of the attempt contains nothing of the plan.
    ///
    /// # Cancellation
    /// Like [`Terraform::plan`].
    pub async fn read_plan(
        &self,
        attempt: &Attempt,
        plan: &SavedPlan,
        context: PlanContext,
    ) -> Result<ReadPlan, CommandError> {
        let unread = |source| {
            let program = self.executable().path().to_owned();
            failed(attempt, Step::Show, CommandFailure::Run { program, source })
        };
        let (reader, writer) = std::io::pipe().map_err(unread)?;
        let limits = Limits::until(Instant::now() + self.plan_read);
        let stopped = CancellationToken::new();
        // Also if this future is dropped.
        let stop = stopped.clone().drop_guard();
        let reader = PlanPipe::new(reader, limits.deadline, stopped).map_err(unread)?;
        let mut reading = spawn_blocking(move || read(reader, &context, limits));
        let quiet = Attempt {
            output: Arc::new(Discard),
            ..attempt.clone()
        };
        let mut arguments = self.arguments(Step::Show);
        arguments.push(plan.file().to_owned());
        let stdout = StdoutUse::File(File::from(OwnedFd::from(writer)));
        let ended = self
            .run_holding(&quiet, Step::Show, arguments, stdout, None)
            .await;
        let read = match timeout(PIPE_GRACE, &mut reading).await {
            Ok(read) => read,
            Err(_elapsed) => {
                drop(stop);
                reading.await
            }
        };
        let (mut plan, end) =
            read.map_err(|error| failed(attempt, Step::Show, CommandFailure::Supervision(error)))?;
        match (end, ended) {
            (ReadEnd::NotAPlan, Err(error)) if is_late(&error) => {
                plan.data.unclear = vec![TOO_SLOW.to_owned()];
                plan.unread = Some(TOO_SLOW);
                Ok(plan)
            }
            (ReadEnd::Whole | ReadEnd::NotAPlan, Ok(ended)) if !ended.status.success() => {
                Err(exit_error(attempt, Step::Show, ended))
            }
            // A process whose output is not read to its end fails or is stopped.
            (ReadEnd::Limit, Err(error)) if is_late(&error) => Ok(plan),
            (_, Ok(_ended)) => Ok(plan),
            (_, Err(error)) => Err(error),
        }
    }
}

/// Reads the text of a plan that an engine has printed, for at most a minute; `None` if the text is no plan. Blocks.
pub fn read_printed_plan(text: impl Read, context: &PlanContext) -> Option<ReadPlan> {
    let limits = Limits::until(Instant::now() + PLAN_READ);
    let (plan, end) = read(text, context, limits);
    (end != ReadEnd::NotAPlan).then_some(plan)
}

const fn is_late(error: &CommandError) -> bool {
    matches!(error.failure, CommandFailure::TimedOut { .. })
}
