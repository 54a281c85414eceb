//! `cts config diff` and `apply`: a configuration and the tasks of a store.

mod apply;
mod diff;

use cts_cli::StoredConfigCommand;
use cts_runtime::ProcessEnv;

use crate::failure::Failure;

/// Runs the command and returns the exit code.
pub(crate) async fn run(
    command: StoredConfigCommand,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    match command {
        StoredConfigCommand::Diff(diff) => diff::run(&diff, process_env).await,
        StoredConfigCommand::Apply(apply) => apply::run(&apply, process_env).await,
    }
}
