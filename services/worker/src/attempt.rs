//! One attempt: from the frozen input to the applied module, or to its plan.

use std::sync::Arc;
use std::time::Duration;

use cts_bundle::{EnsureError, InvalidModulePath, UnpackedBundle};
use cts_core::hidden;
use cts_core::runs::{AttemptOutcome, Plan, RunDetails, RunKind};
use cts_core::state::TerraformState;
use cts_core::{Chain, FAKE_SYNC, LostLease, PlanMode, ProviderBlock, RunInput, TaskDefinition};
use cts_handlers::{HandlersError, PrepareError};
use cts_rpc::ConversionError;
use cts_terraform::{
    Attempt, ChildEnvironment, CommandError, EnvironmentSources, FileError, OrphanError,
    OutputSink, PlanOutput, RenderError, RenderSettings, Report, RootModule, StopSignal,
    TaskDirectory, Terraform, render_root_module, render_tfvars, stop_orphans, task_env,
};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, timeout};
use tonic::Status;

use crate::handlers::{applied_run, prepare_handlers};
use crate::inputs::InputError;
use crate::leased_run::LeasedRun;
use crate::outputs::outputs_of;
use crate::own_lock::retry_after_unlock;
use crate::redaction::{RedactingSink, Redactor};
use crate::saved_plan::apply_saved;
use crate::shared::Shared;
use crate::state::{StateError, TaskState, Undestroyed};
use crate::values::{Resolved, ValueError, resolve, secrets_of};
use crate::wait::WaitError;
use crate::watched::AttemptReport;

/// Longest time for a module to be fetched, by this run or by another run that wants the same module, and
/// unpacked.
const PLACE_MODULE: Duration = Duration::from_mins(10);

/// Most directories that are remembered to have no earlier Terraform in them.
const ADOPTED_KEPT: usize = 10_000;

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttemptError {
    #[error("the scheduler wants something that this worker does not know")]
    Kind(#[from] ConversionError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the module cannot be had")]
    Bundle(#[from] EnsureError<Status>),
    #[error("the module could not be fetched and unpacked within {} s", PLACE_MODULE.as_secs())]
    SlowBundle,
    #[error("the module cannot be used")]
    ModulePath(#[from] InvalidModulePath),
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("the secrets of the run are too much to be kept out of its output")]
    Secrets(#[from] aho_corasick::BuildError),
    #[error("the root module cannot be rendered")]
    Render(#[from] RenderError),
    #[error("the root module cannot be rendered")]
    Rendering(#[from] JoinError),
    #[error("the task directory cannot be written")]
    File(#[from] FileError),
    #[error("an earlier Terraform is still at work in the task directory")]
    Orphan(#[from] OrphanError),
    #[error("stopped before or after Terraform was at work")]
    Stopped,
    #[error(transparent)]
    Terraform(#[from] CommandError),
    #[error(
        "{error}\nThe lock was left by worker {}, which lost the task at {}; nothing of it is alive. With \
         `release_lost_locks = true` in the driver block cts releases such locks",
        lease.worker,
        lease.lost_at.format("%F %T UTC")
    )]
    OwnLock {
        error: CommandError,
        lease: LostLease,
    },
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Undestroyed(#[from] Undestroyed),
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error("the handlers of the task cannot be made")]
    Handlers(#[from] PrepareError),
    #[error("the handlers of the task cannot be made")]
    Preparing(#[source] JoinError),
    #[error(transparent)]
    Handler(#[from] HandlersError),
}

/// The report of an attempt.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: AttemptOutcome,
    /// Details of the attempt, if its secrets were known.
    pub(crate) details: Option<RunDetails>,
    /// The state of its task, if Terraform may have changed it.
    pub(crate) state: Option<TerraformState>,
}

/// Fetches, renders and prepares, and applies or plans unless the run is a check. Giving `order` stops
/// Terraform gently. The report has details once the secrets of the attempt are known.
pub(crate) async fn attempt(
    shared: &Shared,
    run: &LeasedRun,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
) -> Ended {
    let mut watched = None;
    let outcome = match try_attempt(shared, run, output, order.clone(), &mut watched).await {
        // A command that succeeds in spite of the interrupt has done everything.
        Ok(outcome) => outcome,
        Err(
            AttemptError::Stopped
            | AttemptError::Orphan(OrphanError::Cancelled)
            | AttemptError::Wait(WaitError::Stopped | WaitError::Ended(_)),
        ) => AttemptOutcome::Interrupted,
        Err(AttemptError::Terraform(error)) if order.is_cancelled() && error.is_interrupted() => {
            AttemptOutcome::Interrupted
        }
        Err(error) => {
            // Before the values are known, the error can only have secrets of the configuration.
            let configured = || Redactor::new(shared.options.secrets()).map(Arc::new);
            let text = Chain(&error).to_string();
            if let Some(watched) = &watched {
                watched.read_errors(&error);
            }
            let redactor = watched.as_ref().map(|it| Arc::clone(&it.redactor));
            AttemptOutcome::Failed(match redactor.map_or_else(configured, Ok) {
                Ok(redactor) => redactor.redact(&text).into_owned(),
                Err(too_much) => AttemptError::Secrets(too_much).to_string(),
            })
        }
    };
    Ended {
        outcome,
        details: watched.as_ref().map(AttemptReport::details),
        state: watched.and_then(|watched| watched.state),
    }
}

async fn try_attempt(
    shared: &Shared,
    run: &LeasedRun,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
    watched: &mut Option<AttemptReport>,
) -> Result<AttemptOutcome, AttemptError> {
    let begun = Instant::now();
    let options = &shared.options;
    let kind = run.lease.kind.clone()?;
    let mut input: RunInput = order_or(&order, shared.scheduler.input(&run.lease.input)).await??;
    if kind == RunKind::Destroy {
        // Webhooks report applies only. A handler that a provider needs for a change to take effect follows a
        // destruction, too.
        input.definition.file_definition.webhooks.clear();
    }
    // Kept until the end, so that the bundle is not removed during the attempt.
    let _bundle = order_or(&order, place_module(shared, &mut input.definition)).await??;
    let definition = &input.definition;
    let directory = TaskDirectory::new(&definition.working_dir, &options.working_dir);
    let turn = order_or(&order, shared.lock_directory(&directory)).await?;
    adopt(shared, &directory, &order).await?;

    let resolved = resolve(
        &options.render,
        &options.webhooks,
        definition,
        &shared.values,
    );
    let resolved = order_or(&order, resolved).await??;
    let environment = task_env(definition, &resolved.settings.providers);
    let prepared = prepare_handlers(shared, definition, &resolved, &environment);
    let handlers = order_or(&order, prepared).await??;
    let Resolved {
        settings, answers, ..
    } = resolved;
    let secrets = run_secrets(definition, &settings, &environment, answers);
    let secrets = secrets.iter().map(String::as_str).chain(handlers.secrets());
    let redactor = Arc::new(Redactor::new(options.secrets().chain(secrets))?);
    let report = Arc::new(Report::new(output));
    let watched = watched.insert(AttemptReport::new(kind, &redactor, &report));
    let output = Arc::new(RedactingSink::new(Arc::clone(&redactor), report));
    let backend = &settings.backend;
    let terraform = Arc::clone(&shared.terraform);
    let rendered = render(input, Arc::clone(&settings), terraform, directory.clone());
    let (input, root, values) = rendered.await?;
    let definition = &input.definition;
    // The files are removed when the run is over, however it ends.
    let _secret_files = directory.secrets_of(&root);
    directory.write_root(&root)?;
    directory.write_tfvars(&values)?;
    if options.persist_log {
        directory.rotate_trace()?;
    }
    watched.rendered(begun.elapsed());

    let worker = shared.guard.is_some().then(|| options.record.id.as_str());
    let sources = EnvironmentSources {
        inherited: &options.environment,
        backend: &options.backend_environment,
        task_env: &environment,
        lock_timeout: options.lock_timeout,
        persist_log: options.persist_log,
        worker,
    };
    let attempt = Attempt {
        task: definition.name.clone(),
        environment: ChildEnvironment::new(sources, &definition.name, &directory),
        directory,
        output,
        stop: order,
        timeouts: run.lease.timeouts.or(options.timeouts),
    };
    run.enter(&attempt.directory, turn);
    let state = TaskState::new(run, &attempt, backend, &redactor, kind)?;
    let how = (kind, definition.file_definition.plan);
    let outcome = run_terraform((run, &state), &attempt, &root, how, watched).await;
    if let Err(AttemptError::Terraform(error)) = &outcome
        && error.has_left_processes()
    {
        // The next attempt waits for the end of these processes as if an earlier worker had left them.
        shared.adopted.lock().await.remove(&attempt.directory);
    }
    let outcome = outcome?;
    if matches!(outcome, AttemptOutcome::Applied) {
        let terraform = &shared.terraform;
        watched.outputs = outputs_of(terraform, &attempt, definition, &watched.report).await;
    }
    // A run that is stopped after its last step has succeeded, unless handlers follow.
    let changed = matches!(outcome, AttemptOutcome::Applied | AttemptOutcome::Destroyed);
    if changed && !handlers.is_empty() {
        let applied = applied_run(shared, &run.lease, &input);
        order_or(&attempt.stop, handlers.run(&applied)).await??;
    }
    Ok(outcome)
}

/// The arguments of a provider that do not concern a remote system.
const NO_SECRETS: [&str; 2] = ["alias", "auto_commit"];

/// Secrets of a run in addition to those of the configuration: arguments and environment of its providers,
/// texts that their values were put together from, variables whose names say so, and secret parts of the
/// source of its module.
fn run_secrets(
    definition: &TaskDefinition,
    settings: &RenderSettings,
    environment: &[(String, String)],
    answers: Vec<String>,
) -> Vec<String> {
    let mut secrets = answers;
    let ids = definition.providers.iter();
    // A provider for trying things out has no secrets.
    let ids = ids.filter(|id| id.name != FAKE_SYNC);
    for block in ids.filter_map(|id| ProviderBlock::select(&settings.providers, id)) {
        for (name, value) in &block.arguments {
            if !NO_SECRETS.contains(&name.as_str()) {
                secrets_of(value, &mut secrets);
            }
        }
    }
    secrets.extend(environment.iter().map(|(_name, value)| value.clone()));
    for (name, value) in &definition.variables {
        if hidden::shown(name, value) == hidden::HIDDEN {
            secrets_of(value, &mut secrets);
        }
    }
    let source = hidden::secrets_of(&definition.module_source);
    secrets.extend(source.into_iter().map(str::to_owned));
    secrets
}

/// The root module and the values of an input. Variables of a task and a view with many services take time to
/// render, and renewals of leases must not wait for that.
async fn render(
    input: RunInput,
    settings: Arc<RenderSettings>,
    terraform: Arc<Terraform>,
    directory: TaskDirectory,
) -> Result<(RunInput, RootModule, String), AttemptError> {
    let rendering = spawn_blocking(move || {
        let root = render_root_module(&input.definition, &settings)?;
        let root = terraform.with_known_forms(directory.path(), root);
        let values = render_tfvars(&input);
        Ok::<_, RenderError>((input, root, values))
    });
    Ok(rendering.await??)
}

async fn run_terraform(
    (run, state): (&LeasedRun, &TaskState<'_>),
    attempt: &Attempt,
    root: &RootModule,
    (kind, mode): (RunKind, PlanMode),
    watched: &mut AttemptReport,
) -> Result<AttemptOutcome, AttemptError> {
    let terraform = &run.shared.terraform;
    terraform.prepare(attempt, root).await?;
    if kind == RunKind::Check {
        // A check does not read the state.
        return Ok(AttemptOutcome::Checked);
    }
    let lineage = Box::pin(state.verify()).await?;
    Ok(match kind {
        RunKind::Apply => {
            let applied = if mode == PlanMode::Saved {
                Box::pin(apply_saved(run, attempt, watched)).await
            } else {
                retry_after_unlock(run, attempt, || terraform.apply(attempt)).await
            };
            // The state also has the resources that a failed apply has made.
            watched.state = state.report().await;
            applied?;
            AttemptOutcome::Applied
        }
        RunKind::Plan => {
            let plan = retry_after_unlock(run, attempt, || terraform.plan(attempt)).await?;
            planned(&plan, &watched.redactor)
        }
        RunKind::Check => AttemptOutcome::Checked,
        RunKind::Destroy => {
            let ended = retry_after_unlock(run, attempt, || terraform.destroy(attempt)).await;
            let (judged, state) = state.judge_destruction(lineage, ended).await;
            watched.state = state;
            judged?
        }
        RunKind::DestroyPlan => {
            let plan = retry_after_unlock(run, attempt, || terraform.plan_destroy(attempt)).await?;
            planned(&plan, &watched.redactor)
        }
    })
}

fn planned(plan: &PlanOutput, redactor: &Redactor) -> AttemptOutcome {
    let text = redactor.redact(&plan.text).into_owned();
    AttemptOutcome::Planned(Plan::new(plan.changes_present, text))
}

/// Waits for a future unless the order to stop comes first.
async fn order_or<T>(order: &StopSignal, wait: impl Future<Output = T>) -> Result<T, AttemptError> {
    tokio::select! {
        it = wait => Ok(it),
        () = order.cancelled() => Err(AttemptError::Stopped),
    }
}

/// Makes the module's source a directory of this machine, if the module comes as a bundle.
async fn place_module(
    shared: &Shared,
    definition: &mut TaskDefinition,
) -> Result<Option<UnpackedBundle>, AttemptError> {
    let (Some(bundles), Some(reference)) = (&shared.bundles, &definition.bundle) else {
        return Ok(None);
    };
    let fetch = || shared.scheduler.bundle(reference.hash);
    let placed = timeout(PLACE_MODULE, bundles.ensure(reference.hash, fetch)).await;
    let bundle = placed.map_err(|_elapsed| AttemptError::SlowBundle)??;
    definition.module_source = bundle.module_source(&reference.module)?;
    Ok(Some(bundle))
}

/// Called before a directory is used for the first time: a killed worker may have left a Terraform at work in
/// it, and two of them must never meet (P1).
async fn adopt(
    shared: &Shared,
    directory: &TaskDirectory,
    order: &StopSignal,
) -> Result<(), OrphanError> {
    if shared.adopted.lock().await.contains(directory) {
        return Ok(());
    }
    stop_orphans(directory, order).await?;
    let mut adopted = shared.adopted.lock().await;
    if adopted.len() >= ADOPTED_KEPT {
        // Scanning again costs little.
        adopted.clear();
    }
    adopted.insert(directory.clone());
    Ok(())
}
