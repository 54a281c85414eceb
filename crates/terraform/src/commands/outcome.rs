//! From the end of a process to the result of a command.

use crate::attempt::Attempt;
use crate::error::{CommandError, CommandFailure};
use crate::process::Ended;
use crate::step::Step;

pub(crate) fn must_succeed(
    attempt: &Attempt,
    step: Step,
    ended: Ended,
) -> Result<Ended, CommandError> {
    if ended.status.success() {
        Ok(ended)
    } else {
        Err(exit_error(attempt, step, ended))
    }
}

/// A failure with its task and step.
pub(crate) fn failed(
    attempt: &Attempt,
    step: Step,
    failure: impl Into<CommandFailure>,
) -> CommandError {
    CommandError {
        task: attempt.task.clone(),
        directory: attempt.directory.path().to_owned(),
        step,
        failure: failure.into(),
    }
}

/// The failure of a process that ended badly.
pub(crate) fn exit_error(attempt: &Attempt, step: Step, ended: Ended) -> CommandError {
    let failure = CommandFailure::Exit {
        status: ended.status,
        stderr: ended.stderr,
        interrupted: ended.interrupted,
        confirmed: false,
    };
    failed(attempt, step, failure)
}
