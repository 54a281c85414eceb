//! The command `show` for a saved plan (docs/terraform.md#saved-plans).

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::commands::outcome::{exit_error, failed};
use crate::commands::saved_plan::SavedPlan;
use crate::commands::terraform::Terraform;
use crate::error::{CommandError, CommandFailure};
use crate::output::Discard;
use crate::plan::{Limits, PlanContext, ReadEnd, ReadPlan, TOO_SLOW, read};
use crate::process::StdoutUse;
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
        let limits = Limits::until(Instant::now() + PLAN_READ);
        let reading = spawn_blocking(move || read(reader, &context, limits));
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
        let (mut plan, end) = reading
            .await
            .map_err(|error| failed(attempt, Step::Show, CommandFailure::Supervision(error)))?;
        match (end, ended) {
            (
                ReadEnd::NotAPlan,
                Err(CommandError {
                    failure: CommandFailure::TimedOut { .. },
                    ..
                }),
            ) => {
                plan.data.unclear = vec![TOO_SLOW.to_owned()];
                plan.unread = Some(TOO_SLOW);
                Ok(plan)
            }
            (ReadEnd::Whole | ReadEnd::NotAPlan, Ok(ended)) if !ended.status.success() => {
                Err(exit_error(attempt, Step::Show, ended))
            }
            // A process whose output is not read to its end fails.
            (_, Ok(_ended)) => Ok(plan),
            (_, Err(error)) => Err(error),
        }
    }
}
