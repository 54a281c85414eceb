//! The driver `terraform`: Terraform of this machine, in the directory of the task.

use std::sync::Arc;

use cts_bundle::module_interface;
use cts_core::runs::{AttemptOutcome, Plan, RunKind};
use cts_core::{PlanMode, RunInput, TaskDefinition};
use cts_terraform::{
    Attempt, ChildEnvironment, EnvironmentSources, ReadState, RenderError, RenderSettings,
    RootModule, SecretFiles, TaskDirectory, Terraform, render_root_module, render_tfvars,
};
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::Ready;
use super::local_run::LocalRun;
use super::outputs::outputs_of;
use super::own_lock::retry_after_unlock;
use super::state::TaskState;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::attempt_report::AttemptReport;
use crate::redaction::Redactor;

impl Ready<'_> {
    /// Writes the root module and runs Terraform in it.
    pub(super) async fn run_here(
        self,
        terraform: &Arc<Terraform>,
        (directory, lock): (TaskDirectory, OwnedMutexGuard<()>),
        findings: &mut AttemptReport,
    ) -> Result<AttemptOutcome, AttemptError> {
        let Self {
            run,
            kind,
            input,
            settings,
            environment,
            output,
            order,
            begun,
            bundle: _,
        } = self;
        let shared = &run.shared;
        let options = &shared.options;
        let backend = &settings.backend;
        let worker = shared.guard.is_some().then(|| options.record.id.as_str());
        let tracing = run.tracing_environment();
        let sources = EnvironmentSources {
            inherited: &options.environment,
            tracing: &tracing,
            backend: &options.backend_environment,
            task_env: &environment,
            lock_timeout: options.lock_timeout,
            persist_log: options.persist_log,
            worker,
        };
        let name = input.definition.name.clone();
        let attempt = Attempt {
            environment: ChildEnvironment::new(sources, &name, &directory),
            task: name,
            directory,
            output,
            stop: order,
            timeouts: run.lease.timeouts.or(options.timeouts),
        };
        let redactor = Arc::clone(&findings.redactor);
        let here = LocalRun {
            run,
            terraform,
            attempt: &attempt,
            lineage: None,
        };
        let state = TaskState::new(here, backend, &redactor, kind)?;

        let how = (kind, input.definition.file_definition.plan);
        let outcome = Box::pin(async {
            let prepared = here.prepare(input, Arc::clone(&settings), lock, (findings, begun));
            // Every change waits for the read of the state. The read runs in parallel with all steps before Terraform
            // may change something.
            let look = async { Ok(state.look().await) };
            let (prepared, seen) = tokio::try_join!(Box::pin(prepared), look)?;
            let outcome = run_terraform(here, (&state, seen), how, findings).await?;
            Ok::<_, AttemptError>((prepared, outcome))
        })
        .await;
        if let Err(AttemptError::Terraform(error)) = &outcome
            && error.has_left_processes()
        {
            // The next attempt waits for the end of these processes as if an earlier worker had left them.
            shared.adopted.lock().await.remove(&attempt.directory);
        }
        let (prepared, outcome) = outcome?;
        if matches!(outcome, AttemptOutcome::Applied) {
            let definition = &prepared.definition;
            findings.outputs = outputs_of(terraform, &attempt, definition, &findings.report).await;
        }
        Ok(outcome)
    }
}

/// A directory that is ready for Terraform.
struct Prepared {
    definition: TaskDefinition,
    /// Removed when the run is over, however it ends.
    _secret_files: SecretFiles,
}

impl LocalRun<'_> {
    /// Writes the root module and its files, and initialises the directory, which is locked until the end of the run.
    async fn prepare(
        self,
        input: RunInput,
        settings: Arc<RenderSettings>,
        lock: OwnedMutexGuard<()>,
        (findings, begun): (&mut AttemptReport, Instant),
    ) -> Result<Prepared, AttemptError> {
        let Self {
            run,
            terraform,
            attempt,
            ..
        } = self;
        let directory = &attempt.directory;
        let rendered = render(input, settings, Arc::clone(terraform), directory.clone());
        let (input, root, values) = rendered.await?;
        let definition = input.definition;
        let secret_files = directory.secrets_of(&root);
        for file_name in directory.write_root(&root)? {
            tracing::info!(target: "templates.tftmpl", file_name, task_name = %definition.name, "overwriting file in root module for task");
        }
        if !input.lacks_views {
            directory.write_tfvars(&values)?;
        }
        if run.shared.options.persist_log {
            directory.rotate_trace()?;
        }
        findings.rendered(begun.elapsed());
        run.spans.ended("render", begun.elapsed());
        run.enter(directory, lock);
        terraform.prepare(attempt, &root).await?;
        Ok(Prepared {
            definition,
            _secret_files: secret_files,
        })
    }
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
        let module = module_interface(&input.definition.module_source);
        let root = render_root_module(&input.definition, &settings, &module)?;
        let root = terraform.with_known_forms(directory.path(), root);
        let values = render_tfvars(&input, &module);
        Ok::<_, RenderError>((input, root, values))
    });
    Ok(rendering.await??)
}

async fn run_terraform(
    here: LocalRun<'_>,
    (state, seen): (&TaskState<'_>, Option<ReadState>),
    (kind, mode): (RunKind, PlanMode),
    findings: &mut AttemptReport,
) -> Result<AttemptOutcome, AttemptError> {
    let LocalRun {
        terraform, attempt, ..
    } = here;
    if kind == RunKind::Check {
        // A check does not read the state.
        return Ok(AttemptOutcome::Checked);
    }
    let lineage = Box::pin(state.verify(seen)).await?;
    let here = LocalRun {
        lineage: lineage.as_deref(),
        ..here
    };
    Ok(match kind {
        RunKind::Apply => {
            let applied = if mode == PlanMode::Saved {
                // Nothing has changed if this fails.
                let plan = Box::pin(here.plan_change(kind, &findings.redactor)).await?;
                retry_after_unlock(here, || terraform.apply_saved(attempt, &plan)).await
            } else {
                retry_after_unlock(here, || terraform.apply(attempt)).await
            };
            // The state also has the resources that a failed apply has made.
            findings.state = state.report().await;
            state
                .settle(lineage.as_deref(), findings.state.as_ref())
                .await;
            applied?;
            AttemptOutcome::Applied
        }
        RunKind::Plan | RunKind::DestroyPlan => inspect(here, kind, &findings.redactor).await?,
        RunKind::Check => AttemptOutcome::Checked,
        RunKind::Destroy => {
            let ended = if here.run.lease.asks_permission {
                let plan = Box::pin(here.plan_change(kind, &findings.redactor)).await?;
                retry_after_unlock(here, || terraform.apply_saved(attempt, &plan)).await
            } else {
                retry_after_unlock(here, || terraform.destroy(attempt)).await
            };
            let (judged, state) = state.judge_destruction(lineage, ended).await;
            findings.state = state;
            judged?
        }
    })
}

/// Plans, and reports the plan as data if the scheduler keeps plans.
async fn inspect(
    here: LocalRun<'_>,
    kind: RunKind,
    redactor: &Arc<Redactor>,
) -> Result<AttemptOutcome, AttemptError> {
    let LocalRun {
        run,
        terraform,
        attempt,
        ..
    } = here;
    let destroys = kind == RunKind::DestroyPlan;
    let plan = if run.lease.plan_key.is_none() {
        let plan = || async {
            if destroys {
                terraform.plan_destroy(attempt).await
            } else {
                terraform.plan(attempt).await
            }
        };
        retry_after_unlock(here, plan).await?
    } else {
        let save = || async {
            if destroys {
                terraform.save_destroy_plan(attempt).await
            } else {
                terraform.save_plan(attempt).await
            }
        };
        let (saved, plan) = retry_after_unlock(here, save).await?;
        here.report_plan(&saved, &plan, redactor).await;
        plan
    };
    let text = redactor.redact(&plan.text).into_owned();
    Ok(AttemptOutcome::Planned(Plan::new(
        plan.changes_present,
        text,
    )))
}
