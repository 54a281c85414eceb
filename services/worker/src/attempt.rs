//! One attempt: from the frozen input to the applied module.

use std::sync::Arc;

use cts_core::runs::AttemptOutcome;
use cts_core::{Chain, RunInput};
use cts_proto::run::v1::Lease;
use cts_terraform::{
    Attempt, ChildEnvironment, CommandError, EnvironmentSources, FileError, OrphanError,
    OutputSink, RenderError, TaskDirectory, render_root_module, render_tfvars, stop_orphans,
    task_env,
};
use tokio_util::sync::CancellationToken;

use crate::scheduler_calls::InputError;
use crate::worker::Shared;

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the root module cannot be rendered")]
    Render(#[from] RenderError),
    #[error("the task directory cannot be written")]
    File(#[from] FileError),
    #[error("an earlier Terraform is still at work in the task directory")]
    Orphan(#[from] OrphanError),
    #[error(transparent)]
    Terraform(#[from] CommandError),
}

/// Fetches, renders, prepares and applies. Cancelling `cancel` interrupts Terraform gently.
pub(crate) async fn attempt(
    shared: &Shared,
    lease: &Lease,
    output: Arc<dyn OutputSink>,
    cancel: CancellationToken,
) -> AttemptOutcome {
    match try_attempt(shared, lease, output, cancel.clone()).await {
        // A command that succeeds in spite of the interrupt has applied everything.
        Ok(()) => AttemptOutcome::Applied,
        Err(AttemptError::Terraform(error)) if cancel.is_cancelled() && error.is_interrupted() => {
            AttemptOutcome::Interrupted
        }
        Err(error) => AttemptOutcome::Failed(Chain(&error).to_string()),
    }
}

async fn try_attempt(
    shared: &Shared,
    lease: &Lease,
    output: Arc<dyn OutputSink>,
    cancel: CancellationToken,
) -> Result<(), AttemptError> {
    let options = &shared.options;
    let input: RunInput = shared.scheduler.input(lease).await?;
    let definition = &input.definition;
    let directory = TaskDirectory::new(&definition.working_dir, &options.start_directory);
    adopt(shared, &directory).await?;

    let root = render_root_module(definition, &options.render)?;
    directory.write_root(&root)?;
    directory.write_tfvars(&render_tfvars(&input))?;

    let sources = EnvironmentSources {
        inherited: &options.environment,
        backend: &options.backend_environment,
        task_env: &task_env(definition, &options.render.providers),
        persist_log: options.persist_log,
    };
    let attempt = Attempt {
        task: definition.name.clone(),
        environment: ChildEnvironment::new(sources, &definition.name, &directory),
        directory,
        output,
        cancel,
        stop: options.stop,
    };
    shared.terraform.prepare(&attempt, &root).await?;
    shared.terraform.apply(&attempt).await?;
    Ok(())
}

/// Before a directory is used for the first time: a worker that was killed may have left a Terraform
/// at work in it, and two of them must never meet (P1).
async fn adopt(shared: &Shared, directory: &TaskDirectory) -> Result<(), OrphanError> {
    if shared.adopted.lock().await.contains(directory) {
        return Ok(());
    }
    stop_orphans(directory, shared.options.stop).await?;
    shared.adopted.lock().await.insert(directory.clone());
    Ok(())
}
