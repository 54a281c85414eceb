//! From a leased run to its remote run (docs/hcp-terraform.md#the-life-of-a-run).
//!
//! A process may die anywhere here. The intent to request a remote run is recorded before, with the number that the
//! message of the remote run has; the answer is recorded after. An attempt that finds an intent
//! without an answer looks for the message first. A server that shows nothing for [`APPEARS`] never got the
//! request, or the request of a worker whose lease is over for as long.

use std::time::Duration;

use cts_bundle::module_interface;
use cts_core::runs::RunKind;
use cts_core::{RemoteConfiguration, RemoteRun, RunId, TaskRemoteRun};
use cts_hcp_terraform::{NewRun, Run, RunVariable, Server, Workspace};
use cts_terraform::{RenderSettings, render_variables};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::remote_attempt::{Given, RemoteAttempt};
use crate::outcome::attempt_error::AttemptError;
use crate::remote_driver::configuration::Configuration;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::known_workspace::KnownWorkspace;
use crate::remote_driver::other_workspace::page_in;
use crate::remote_driver::placement::{self, Placement};
use crate::remote_driver::reach::Reach;
use crate::remote_driver::target_workspace::TargetWorkspace;
use crate::remote_driver::variables::{Values, values, write_variables};
use crate::remote_driver::version::version_of_files;
use crate::remote_driver::workspace::Reconciled;

/// How often a request with an unknown outcome is looked at before the server counts as away.
const MOST_UNKNOWN: u32 = 3;

/// How long a requested run may take to be listed.
const APPEARS: Duration = Duration::from_secs(30);

/// Pause between two searches for such a run: servers limit lists of runs.
const LOOKS: Duration = Duration::from_secs(8);

/// A remote run that exists.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) remote: RemoteRun,
    /// Differences between a plan and an apply.
    pub(super) notes: Vec<String>,
}

/// Everything that a remote run needs.
struct Prepared {
    server: Server,
    remote: RemoteRun,
    variables: Vec<RunVariable>,
    notes: Vec<String>,
}

/// The next step of an attempt.
enum Step {
    Follow(Box<Begun>),
    Create(Box<Prepared>),
    Checked,
}

impl RemoteAttempt<'_> {
    /// The remote run of this run; `None` for a check, which has none. While the server is away, the run waits for it.
    pub(super) async fn begin(&self, given: &Given) -> Result<Option<Begun>, AttemptError> {
        let mut unknown = 0;
        loop {
            let error = match self.try_begin(given).await {
                Err(AttemptError::Remote(error)) => error,
                begun => return begun,
            };
            if error.is_unauthorized() {
                self.driver.forget_server().await;
            }
            if error.is_unknown() && unknown < MOST_UNKNOWN {
                unknown += 1;
            } else if (error.is_outage() || error.is_unknown()) && self.kind == RunKind::Apply {
                self.wait_for_server(&error).await?;
                unknown = 0;
            } else {
                return Err(error.into());
            }
        }
    }

    async fn try_begin(&self, given: &Given) -> Result<Option<Begun>, AttemptError> {
        let step = tokio::select! {
            step = self.prepare(given) => step?,
            () = self.order.cancelled() => return Err(AttemptError::Stopped),
            () = self.run.drain.cancelled() => return Err(AttemptError::Stopped),
        };
        let prepared = match step {
            Step::Create(prepared) => prepared,
            Step::Follow(begun) => return Ok(Some(*begun)),
            Step::Checked => return Ok(None),
        };
        // A cancelled run is only left when its remote run is known, and can be cancelled.
        tokio::select! {
            created = self.create(*prepared) => Ok(Some(created?)),
            () = self.order.must_end() => Err(AttemptError::Stopped),
        }
    }

    async fn prepare(&self, given: &Given) -> Result<Step, AttemptError> {
        self.take_start_permit().await;
        let lease = &self.run.lease;
        let server = self.server().await?;
        let reach = Reach::of(self.kind);
        if !reach.requests() {
            self.check(&server, given).await?;
            return Ok(Step::Checked);
        }
        let known = self.run.shared.scheduler.remote_runs(lease).await;
        let known = known.map_err(RemoteError::from)?;
        let number = known.own.as_ref().map_or(0, |own| own.number);
        self.refuse_elsewhere(&server, &known).await?;
        let own = known
            .own
            .filter(|own| !own.given_up && self.is_in_place(&server, own));
        if let Some(own) = own
            && let Some(remote) = self.resume(&server, own).await?
        {
            let notes = self.resumed_notes(given, &server, &remote).await?;
            return Ok(Step::Follow(Box::new(Begun { remote, notes })));
        }
        let newest = known.newest.as_ref();
        let is_decided = lease.state.clone()?.is_some_and(|state| state.is_pending());
        let workspace = newest.map(|newest| &newest.remote);
        let workspace = KnownWorkspace::of(workspace, is_decided, self.kind);
        let reconciled = self
            .driver
            .reconcile(&server, &given.input.definition, workspace);
        let reconciled = reconciled.await?;
        if reach.changes() {
            let is_left = |newest: &&TaskRemoteRun| {
                newest.run != lease.run
                    || newest.remote.given_up
                    || !self.is_in_place(&server, &newest.remote)
            };
            let earlier = newest.filter(is_left);
            self.end_earlier(&server, earlier, number).await?;
            self.take_start_permit().await;
        }
        let newest = newest.map(|newest| &newest.remote);
        let loaded = async {
            let verified = self.verify_state(&server, &reconciled, newest).await?;
            let loaded = self.load(given, &server, &reconciled, newest).await?;
            Ok::<_, AttemptError>((verified, loaded))
        };
        let loaded = loaded.await;
        if loaded.is_err() && reconciled.is_disposable {
            self.remove_disposable(&reconciled.place).await;
        }
        let (verified, (uploaded, variables, mut notes)) = loaded?;
        notes.extend(reconciled.notes);
        Ok(Step::Create(Box::new(Prepared {
            notes,
            remote: RemoteRun {
                workspace: reconciled.place,
                number: number + 1,
                configuration: Some(uploaded),
                verified_moves: Some(verified),
                ..RemoteRun::default()
            },
            server,
            variables,
        })))
    }

    /// Brings variables and configuration of a workspace into step, as far as the run may. Returns the configuration, the
    /// values that the run itself has to have, and the differences from an apply.
    async fn load(
        &self,
        given: &Given,
        server: &Server,
        reconciled: &Reconciled,
        known: Option<&RemoteRun>,
    ) -> Result<(RemoteConfiguration, Vec<RunVariable>, Vec<String>), RemoteError> {
        let (workspace, reach) = (&reconciled.workspace, Reach::of(self.kind));
        let present = server.variables(&workspace.id).await?;
        let target = TargetWorkspace {
            workspace_id: &workspace.id,
            present: &present,
            is_disposable: reconciled.is_disposable,
        };
        let (configuration, placement) = self.placed(given, workspace, target).await?;
        if let Some(wanted) = &placement.of_workspace {
            let wanted = (wanted.as_slice(), placement.kept.as_slice());
            write_variables(server, target, wanted, &self.driver.variables).await?;
        }
        let known = known.filter(|known| known.workspace.id == workspace.id);
        let known = known.and_then(|known| known.configuration.as_ref());
        let known = (known, !reach.changes());
        let uploaded =
            self.driver
                .configuration_version(server, &workspace.id, configuration, known);
        Ok((uploaded.await?, placement.of_run, placement.notes))
    }

    /// The configuration of the run, and its values by their place.
    pub(super) async fn placed(
        &self,
        given: &Given,
        workspace: &Workspace,
        target: TargetWorkspace<'_>,
    ) -> Result<(Configuration, Placement), RemoteError> {
        let version = workspace.terraform_version.as_deref().unwrap_or_default();
        let (configuration, values) = self.render(given, version).await?;
        let reach = Reach::of(self.kind);
        let placement = placement::place(values, reach, given.input.lacks_views, target)?;
        Ok((configuration, placement))
    }

    pub(super) async fn render(
        &self,
        given: &Given,
        version: &str,
    ) -> Result<(Configuration, Values), RemoteError> {
        let settings = RenderSettings {
            terraform_version: version_of_files(version),
            ..RenderSettings::clone(&given.settings)
        };
        let (input, environment) = (given.input.clone(), given.environment.clone());
        let bundle = given.bundle.clone();
        let rendering = spawn_blocking(move || {
            let module = module_interface(&input.definition.module_source);
            let variables = render_variables(&input, &settings, &module)?;
            let mut values = values(variables, &environment);
            let long = values.file.take();
            let definition = (input.definition, &module);
            let configuration = Configuration::render(definition, &settings, bundle, long)?;
            Ok::<_, RemoteError>((configuration, values))
        });
        rendering.await?
    }

    /// Records that a remote run is requested, requests it, and records the answer.
    async fn create(&self, prepared: Prepared) -> Result<Begun, RemoteError> {
        let Prepared {
            server,
            mut remote,
            variables,
            notes,
        } = prepared;
        self.record(&remote).await?;
        let message = self.message(remote.number);
        let configuration = remote.configuration.as_ref();
        let configuration = configuration.map_or("", |configuration| &configuration.id);
        let run = NewRun {
            workspace_id: &remote.workspace.id,
            configuration_version_id: configuration,
            message: &message,
            plan_only: self.kind.only_plans(),
            is_destroy: matches!(self.kind, RunKind::Destroy | RunKind::DestroyPlan),
            variables: &variables,
        };
        let run = server.create_run(&run).await?;
        self.note(&mut remote, &run).await?;
        if self.kind.only_plans() {
            self.require_taken(&server, &mut remote, &run, &variables)
                .await?;
        }
        Ok(Begun { remote, notes })
    }

    /// Continues with a remote run that was requested; `None` if the server never got the request.
    async fn resume(
        &self,
        server: &Server,
        mut own: RemoteRun,
    ) -> Result<Option<RemoteRun>, RemoteError> {
        if let Some(id) = &own.id {
            tracing::info!(task_name = self.run.lease.task_name, run.id = %self.run.lease.run, remote_run = id, "continuing with the remote run");
            return Ok(Some(own));
        }
        let key = key(self.run.lease.run, own.number);
        let Some(run) = find(server, &own.workspace.id, &key).await? else {
            return Ok(None);
        };
        self.note(&mut own, &run).await?;
        Ok(Some(own))
    }

    /// The message of a remote run.
    fn message(&self, number: u32) -> String {
        let lease = &self.run.lease;
        format!("cts: task {} {}", lease.task_name, key(lease.run, number))
    }

    /// Records the id of a remote run, and its status.
    pub(super) async fn note(&self, remote: &mut RemoteRun, run: &Run) -> Result<(), RemoteError> {
        let page = page_in(&remote.workspace);
        remote.url = Some(format!("{page}/runs/{}", run.id));
        remote.id = Some(run.id.clone());
        run.status.as_str().clone_into(&mut remote.status);
        self.record(remote).await
    }

    pub(super) async fn record(&self, remote: &RemoteRun) -> Result<(), RemoteError> {
        let scheduler = &self.run.shared.scheduler;
        Ok(scheduler.record_remote_run(&self.run.lease, remote).await?)
    }
}

/// The part of the message by which a remote run is found.
pub(super) fn key(run: RunId, number: u32) -> String {
    format!("[{run}/{number}]")
}

/// Finds the run with this key in its message; the server may list a run a little later than it was made.
pub(super) async fn find(
    server: &Server,
    workspace_id: &str,
    key: &str,
) -> Result<Option<Run>, RemoteError> {
    let begun = Instant::now();
    loop {
        let found = server.run_with_message(workspace_id, key).await?;
        if found.is_some() || begun.elapsed() >= APPEARS {
            return Ok(found);
        }
        sleep(LOOKS).await;
    }
}
