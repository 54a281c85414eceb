//! One attempt: from the frozen input to the applied module, or to its plan.

mod attempt_error;
mod attempt_report;
pub(crate) mod ended;
mod handlers;
mod outputs;
mod own_lock;
mod saved_plan;
mod state;
mod state_error;

use std::sync::Arc;

use cts_bundle::UnpackedBundle;
use cts_core::hidden;
use cts_core::runs::{AttemptOutcome, Plan, RunKind};
use cts_core::{Chain, FAKE_SYNC, PlanMode, ProviderBlock, RunInput, TaskDefinition};
use cts_terraform::{
    Attempt, ChildEnvironment, EnvironmentSources, OrphanError, OutputSink, PlanOutput,
    RenderError, RenderSettings, Report, RootModule, StopSignal, TaskDirectory, Terraform,
    render_root_module, render_tfvars, stop_orphans, task_env,
};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use self::attempt_error::{AttemptError, PLACE_MODULE};
use self::attempt_report::AttemptReport;
use self::ended::Ended;
use self::handlers::{applied_run, prepare_handlers};
use self::outputs::outputs_of;
use self::own_lock::retry_after_unlock;
use self::saved_plan::apply_saved;
use self::state::TaskState;
use crate::lease::leased_run::LeasedRun;
use crate::lease::wait_error::WaitError;
use crate::redaction::{RedactingSink, Redactor};
use crate::shared::Shared;
use crate::values::{Resolved, resolve, secrets_of};

/// Most directories that are remembered to have no earlier Terraform in them.
const ADOPTED_KEPT: usize = 10_000;

/// Fetches, renders and prepares, and applies or plans unless the run is a check. Giving `order` stops
/// Terraform gently. The report has details once the secrets of the attempt are known.
pub(crate) async fn attempt(
    shared: &Shared,
    run: &LeasedRun,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
) -> Ended {
    let mut findings = None;
    let outcome = match try_attempt(shared, run, output, order.clone(), &mut findings).await {
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
            if let Some(findings) = &findings {
                findings.read_errors(&error);
            }
            let redactor = findings.as_ref().map(|it| Arc::clone(&it.redactor));
            AttemptOutcome::Failed(match redactor.map_or_else(configured, Ok) {
                Ok(redactor) => redactor.redact(&text).into_owned(),
                Err(too_much) => AttemptError::Secrets(too_much).to_string(),
            })
        }
    };
    Ended {
        outcome,
        details: findings.as_ref().map(AttemptReport::details),
        state: findings.and_then(|findings| findings.state),
    }
}

async fn try_attempt(
    shared: &Shared,
    run: &LeasedRun,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
    findings: &mut Option<AttemptReport>,
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
    let lock = order_or(&order, shared.lock_directory(&directory)).await?;
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
    let findings = findings.insert(AttemptReport::new(kind, &redactor, &report));
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
    findings.rendered(begun.elapsed());

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
    run.enter(&attempt.directory, lock);
    let state = TaskState::new(run, &attempt, backend, &redactor, kind)?;
    let how = (kind, definition.file_definition.plan);
    let outcome = run_terraform((run, &state), &attempt, &root, how, findings).await;
    if let Err(AttemptError::Terraform(error)) = &outcome
        && error.has_left_processes()
    {
        // The next attempt waits for the end of these processes as if an earlier worker had left them.
        shared.adopted.lock().await.remove(&attempt.directory);
    }
    let outcome = outcome?;
    if matches!(outcome, AttemptOutcome::Applied) {
        let terraform = &shared.terraform;
        findings.outputs = outputs_of(terraform, &attempt, definition, &findings.report).await;
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
    findings: &mut AttemptReport,
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
                Box::pin(apply_saved(run, attempt, findings)).await
            } else {
                retry_after_unlock(run, attempt, || terraform.apply(attempt)).await
            };
            // The state also has the resources that a failed apply has made.
            findings.state = state.report().await;
            applied?;
            AttemptOutcome::Applied
        }
        RunKind::Plan => {
            let plan = retry_after_unlock(run, attempt, || terraform.plan(attempt)).await?;
            planned(&plan, &findings.redactor)
        }
        RunKind::Check => AttemptOutcome::Checked,
        RunKind::Destroy => {
            let ended = retry_after_unlock(run, attempt, || terraform.destroy(attempt)).await;
            let (judged, state) = state.judge_destruction(lineage, ended).await;
            findings.state = state;
            judged?
        }
        RunKind::DestroyPlan => {
            let plan = retry_after_unlock(run, attempt, || terraform.plan_destroy(attempt)).await?;
            planned(&plan, &findings.redactor)
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
