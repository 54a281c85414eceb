//! One attempt: from the frozen input to the applied module, or to the plan.

mod handlers;
mod local;
mod local_run;
mod outputs;
mod own_lock;
mod permission;
mod plan_data;
mod refused_key;
pub(crate) mod state;

use std::sync::Arc;

use cts_bundle::UnpackedBundle;
use cts_core::hidden;
use cts_core::runs::{AttemptOutcome, EarlyFailure, RunKind};
use cts_core::{FAKE_SYNC, PlanMode, ProviderBlock, RunInput, TaskDefinition};
use cts_rpc::convert::duration_to_wire;
use cts_terraform::{
    OrphanError, OutputSink, RenderSettings, Report, StopSignal, TaskDirectory, stop_orphans,
    task_env,
};
use tokio::time::{Instant, timeout};

use self::handlers::{applied_run, prepare_handlers};
use crate::calls::inputs::InputError;
use crate::ended::Ended;
use crate::leased_run::LeasedRun;
use crate::leased_run::wait_error::WaitError;
use crate::options::Driver;
use crate::outcome::attempt_error::{AttemptError, PLACE_MODULE};
use crate::outcome::attempt_report::AttemptReport;
use crate::outcome::module_directory::ModuleDirectory;
use crate::redaction::{RedactingSink, Redactor};
use crate::remote::remote_attempt::{Given, RemoteAttempt};
use crate::remote_driver::RemoteDriver;
use crate::remote_driver::start_permit::StartPermit;
use crate::shared::Shared;
use crate::values::{Resolved, resolve, secrets_of, texts_of};

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
    let mut is_final = false;
    let mut code = None;
    let mut early_failure = None;
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
            let error = refused_key::explain(shared, error).await;
            code = Some(error.code());
            early_failure = match error.machine_suspected() {
                Some(true) => Some(shared.health.judge(shared).await),
                Some(false) => Some(EarlyFailure::Run),
                None => None,
            };
            is_final = match &error {
                AttemptError::Remote(error) => error.is_final(),
                AttemptError::Terraform(error) => error.is_final(),
                AttemptError::State(error) => error.is_final(),
                AttemptError::NotPermitted(_) => true,
                _ => false,
            };
            let text = error.text_for(&run.lease.task_name);
            if let Some(findings) = &findings {
                findings.read_errors(&error);
            }
            let declined = match &error {
                AttemptError::Remote(error) => error.is_decision(),
                AttemptError::NotPermitted(error) => error.is_decision(),
                _ => false,
            };
            let shown = match &findings {
                Some(findings) => findings.shown(&text),
                // Before the values are known, the error can only have secrets of the configuration.
                None => match Redactor::new(shared.options.secrets()) {
                    Ok(redactor) => redactor.redact(&text).into_owned(),
                    Err(too_much) => AttemptError::Secrets(too_much).to_string(),
                },
            };
            if declined {
                AttemptOutcome::Declined(shown)
            } else {
                AttemptOutcome::Failed(shown)
            }
        }
    };
    let mut details = findings.as_ref().map(AttemptReport::details);
    if let Some(details) = &mut details {
        details
            .worker_version
            .clone_from(&shared.options.record.version);
        let waited = Some(*run.waited.lock()).filter(|waited| !waited.is_zero());
        details.phases.get_or_insert_default().wait = waited.map(duration_to_wire);
    }
    if let Some(code) = code {
        let details = details.get_or_insert_default();
        code.as_str().clone_into(&mut details.error_code);
    }
    Ended {
        outcome,
        is_final,
        early_failure,
        details,
        state: findings.and_then(|findings| findings.state),
    }
}

/// Each step has a future of its own, whose memory is free while a remote run is followed.
async fn try_attempt(
    shared: &Shared,
    run: &LeasedRun,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
    findings: &mut Option<AttemptReport>,
) -> Result<AttemptOutcome, AttemptError> {
    let options = &shared.options;
    let kind = run.lease.kind.clone()?;
    if run.lease.ends_remote_run {
        let Driver::Remote(remote) = &shared.driver else {
            return Err(AttemptError::Stopped);
        };
        let ending = RemoteAttempt::ending((shared, run, remote), kind, output, order)?;
        return Box::pin(ending.end_open()).await;
    }
    let start_permit = match &shared.driver {
        Driver::Terraform(_) => StartPermit::default(),
        Driver::Remote(remote) => tokio::select! {
            start_permit = step(&order, remote.start_permits.take()) => start_permit?,
            () = run.drain.cancelled() => return Err(AttemptError::Stopped),
        },
    };
    let begun = Instant::now();
    let mut input = step(&order, input_of(shared, run)).await??;
    if kind == RunKind::Destroy {
        // Webhooks report applies only. A handler that a provider needs for a change to take effect follows a
        // destruction, too.
        input.definition.file_definition.webhooks.clear();
    }
    if run.lease.asks_permission {
        // The file of a saved plan has as few secrets as possible.
        input.definition.file_definition.plan = PlanMode::Saved;
    }
    // Kept until the end, so that the bundle is not removed during the attempt.
    let bundle = step(&order, place_module(shared, run, &mut input.definition)).await??;
    let definition = &input.definition;
    let directory = TaskDirectory::new(&definition.working_dir, &options.working_dir);
    let lock = step(&order, shared.lock_directory(&directory)).await?;
    let is_first = match &shared.driver {
        Driver::Terraform(_) => Box::pin(adopt(shared, &directory, &order)).await?,
        Driver::Remote(_) => false,
    };
    if is_first {
        log_output(shared, definition, &directory);
    }

    let resolved = resolve(
        &options.render,
        &options.webhooks,
        definition,
        &shared.values,
    );
    let resolved = step(&order, resolved).await??;
    let environment = task_env(definition, &resolved.settings.providers);
    let prepared = prepare_handlers(shared, definition, &resolved, &environment);
    let handlers = step(&order, prepared).await??;
    if is_first {
        tracing::info!(
            target: "driver.terraform",
            task_name = %definition.name,
            "retrieved {} Terraform handlers for task", handlers.of_providers()
        );
    }
    let Resolved {
        settings, answers, ..
    } = resolved;
    let redactor = {
        let secrets = run_secrets(definition, &settings, &environment, answers);
        let secrets = secrets.iter().map(String::as_str).chain(handlers.secrets());
        shared.redactors.of(options.secrets().chain(secrets))?
    };
    // The driver takes the input.
    let mut applied = applied_run(shared, &run.lease, &input);
    let report = Arc::new(Report::new(output));
    let findings = findings.insert(AttemptReport::new(
        kind,
        ModuleDirectory::of(&input.definition),
        &redactor,
        &report,
    ));
    let output = Arc::new(RedactingSink::new(Arc::clone(&redactor), report));
    let ready = Ready {
        run,
        kind,
        input,
        bundle: bundle.as_ref(),
        settings,
        environment,
        output,
        order: order.clone(),
        begun,
    };
    let outcome = match &shared.driver {
        Driver::Terraform(terraform) => {
            Box::pin(ready.run_here(terraform, (directory, lock), findings)).await?
        }
        Driver::Remote(remote) => {
            let (attempt, given) = ready.for_server(remote, start_permit, directory, findings);
            let begun = Instant::now();
            let outcome = Box::pin(attempt.make(given, findings)).await;
            run.spans.ended("remote run", begun.elapsed());
            drop(lock);
            outcome?
        }
    };
    // A run that is stopped after its last step has succeeded, unless handlers follow.
    let changed = matches!(outcome, AttemptOutcome::Applied | AttemptOutcome::Destroyed);
    if changed && !handlers.is_empty() {
        applied.at = shared.handlers.now();
        let begun = Instant::now();
        let handled = step(&order, handlers.run(&applied)).await;
        let took = begun.elapsed();
        run.spans.ended("handlers", took);
        handled??;
        if kind == RunKind::Apply {
            shared.metrics.handled(took);
        }
    }
    Ok(outcome)
}

/// An attempt with all its prerequisites, before its driver begins.
struct Ready<'r> {
    run: &'r LeasedRun,
    kind: RunKind,
    input: RunInput,
    /// The bundle that contains the module, if the module comes as a bundle.
    bundle: Option<&'r UnpackedBundle>,
    /// Settings with the values of dynamic arguments.
    settings: Arc<RenderSettings>,
    /// Variables of the environment that providers of the task set.
    environment: Vec<(String, String)>,
    output: Arc<dyn OutputSink>,
    order: StopSignal,
    begun: Instant,
}

impl<'r> Ready<'r> {
    /// The attempt at a run on the server of the task's workspace, and the things that its remote run begins with.
    fn for_server(
        self,
        driver: &'r RemoteDriver,
        start_permit: StartPermit,
        directory: TaskDirectory,
        findings: &mut AttemptReport,
    ) -> (RemoteAttempt<'r>, Box<Given>) {
        findings.rendered(self.begun.elapsed());
        self.run.spans.ended("render", self.begun.elapsed());
        let definition = &self.input.definition;
        let attempt = RemoteAttempt {
            run: self.run,
            driver,
            kind: self.kind,
            task: definition.name.clone(),
            outputs: definition.outputs.clone(),
            directory,
            output: self.output,
            order: self.order,
            redactor: Arc::clone(&findings.redactor),
            start_permit,
        };
        let given = Given {
            input: self.input,
            settings: self.settings,
            environment: self.environment,
            bundle: self.bundle.cloned(),
        };
        (attempt, Box::new(given))
    }
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
        for part in hidden::hidden_parts(name, value) {
            secrets_of(part, &mut secrets);
        }
        let mut texts = Vec::new();
        texts_of(value, &mut texts);
        let of_urls = texts.into_iter().flat_map(hidden::secrets_of);
        secrets.extend(of_urls.map(str::to_owned));
    }
    let source = hidden::secrets_of(&definition.module_source);
    secrets.extend(source.into_iter().map(str::to_owned));
    secrets
}

/// Waits for a future unless the order to stop comes first. The future has memory of its own.
fn step<T>(
    order: &StopSignal,
    step: impl Future<Output = T>,
) -> impl Future<Output = Result<T, AttemptError>> {
    let step = Box::pin(step);
    async move {
        tokio::select! {
            it = step => Ok(it),
            () = order.cancelled() => Err(AttemptError::Stopped),
        }
    }
}

/// The input of a run. A refusal counts once the lease is renewed and the scheduler refuses again.
async fn input_of(shared: &Shared, run: &LeasedRun) -> Result<RunInput, InputError> {
    let input = || shared.scheduler.input(&run.lease);
    match input().await {
        Err(InputError::Call(refused)) if run.is_in_force_again(&refused).await => input().await,
        answer => answer,
    }
}

/// Makes the module's source a directory of this machine, if the module comes as a bundle.
async fn place_module(
    shared: &Shared,
    run: &LeasedRun,
    definition: &mut TaskDefinition,
) -> Result<Option<UnpackedBundle>, AttemptError> {
    let (Some(bundles), Some(reference)) = (&shared.bundles, &definition.bundle) else {
        return Ok(None);
    };
    let fetch = || async {
        let bundle = || shared.scheduler.bundle(&run.lease, reference.hash);
        match bundle().await {
            Err(refused) if run.is_in_force_again(&refused).await => bundle().await,
            answer => answer,
        }
    };
    let placed = timeout(PLACE_MODULE, bundles.ensure(reference.hash, fetch)).await;
    let bundle = placed.map_err(|_elapsed| AttemptError::SlowBundle)??;
    definition.module_source = bundle.module_source(&reference.module)?;
    Ok(Some(bundle))
}

/// Called before a directory is used for the first time: a killed worker may have left a Terraform at work in
/// it, and two of them must never meet (P1). Returns whether it is the first use.
async fn adopt(
    shared: &Shared,
    directory: &TaskDirectory,
    order: &StopSignal,
) -> Result<bool, OrphanError> {
    if shared.adopted.lock().await.contains(directory) {
        return Ok(false);
    }
    stop_orphans(directory, order).await?;
    let mut adopted = shared.adopted.lock().await;
    if adopted.len() >= ADOPTED_KEPT {
        // Scanning again costs little.
        adopted.clear();
    }
    adopted.insert(directory.clone());
    Ok(true)
}

/// Logs where Terraform's output goes, once for each directory.
fn log_output(shared: &Shared, definition: &TaskDefinition, directory: &TaskDirectory) {
    let task_name = definition.name.as_str();
    if shared.options.persist_log {
        let path = directory.path().join("terraform.log");
        tracing::info!(target: "client.terraformcli", { "logPath" = %path.display(), task_name }, "persisting Terraform logs on disk");
    }
    if shared.console.0.is_some() {
        tracing::info!(target: "client.terraformcli", task_name, "Terraform logging is set, Terraform logs will output with Consul-Terraform-Sync logs");
    } else {
        tracing::info!(target: "client.terraformcli", task_name, "Terraform output is muted");
    }
}
