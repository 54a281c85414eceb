//! The state of a task in its workspace, and its move there (docs/hcp-terraform.md#states).
//!
//! The rules are those of backends ([`cts_core::state`]), and so is the order of the steps: a move that cts decides is
//! recorded before it is done, and a person's decision is carried out first. A workspace whose state was verified is
//! named by the newest remote run of the task.

use cts_core::runs::RunKind;
use cts_core::state::{Decision, Source, StateRecord, StateRefusal, StateReport, TerraformState};
use cts_core::{Chain, REMOTE_DRIVER, RemoteRun};
use cts_hcp_terraform::Server;
use cts_terraform::{FoundState, run_outputs, state_outputs};

use super::origin::Origin;
use super::remote_attempt::RemoteAttempt;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::attempt_report::AttemptReport;
use crate::outcome::mismatch::Mismatch;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::push::{read_state, release_left_lock};
use crate::remote_driver::workspace::Reconciled;

/// The states that were found at the two places.
struct Seen {
    target: Option<TerraformState>,
    origin: Option<Origin>,
    source: Source,
    text: Option<Vec<u8>>,
}

impl RemoteAttempt<'_> {
    /// Verifies that the state in the workspace belongs to the task. If the state is in another place and this run
    /// changes something, moves the state there. Returns the number of moves for which that was verified.
    pub(super) async fn verify_state(
        &self,
        server: &Server,
        reconciled: &Reconciled,
        newest: Option<&RemoteRun>,
    ) -> Result<u32, AttemptError> {
        let known = self.run.lease.state.clone()?.unwrap_or_default();
        let is_pending = known.is_pending();
        let newest = newest.filter(|newest| newest.workspace.id == reconciled.place.id);
        let is_verified = newest.is_some_and(|newest| newest.verified_moves == Some(known.moves));
        if is_verified && !is_pending {
            return Ok(known.moves);
        }
        let origin = self.origin(&known);
        if known.known.is_none() && !is_pending && origin.is_none() {
            // The task accepts any state that it finds.
            return Ok(known.moves);
        }
        let seen = self.read_both(server, reconciled, &known, origin).await?;
        match known.decide(seen.target.as_ref(), &seen.source) {
            Decision::GoOn(state) if self.kind.changes_resources() => {
                if is_pending || known.moves > 0 {
                    release_left_lock(server, reconciled).await?;
                }
                if is_pending && state.is_some() {
                    // Without a state the decision stays in force until a state exists.
                    Ok(self.run.record_state(StateReport::Accepted(state)).await?)
                } else {
                    Ok(known.moves)
                }
            }
            Decision::GoOn(_) => Ok(known.moves),
            Decision::Refuse(refusal) => {
                Err(self.mismatch(Some(refusal), &known, seen, reconciled).await)
            }
            Decision::Move { .. } if !self.kind.changes_resources() => {
                Err(self.mismatch(None, &known, seen, reconciled).await)
            }
            Decision::Move { force } => {
                let (Some(text), Source::State(state)) = (&seen.text, &seen.source) else {
                    let refusal = Some(StateRefusal::NoSource);
                    return Err(self.mismatch(refusal, &known, seen, reconciled).await);
                };
                let moved = StateReport::Moved(state.clone());
                let moves = if is_pending {
                    self.push(server, reconciled, (text, state), force).await?;
                    self.run.record_state(moved).await?
                } else {
                    let moves = self.run.record_state(moved).await?;
                    self.push(server, reconciled, (text, state), force).await?;
                    moves
                };
                self.tell(&seen, state, reconciled);
                Ok(moves)
            }
        }
    }

    /// Reads the state in the workspace, and the state at the other place if it matters.
    async fn read_both(
        &self,
        server: &Server,
        reconciled: &Reconciled,
        known: &StateRecord,
        origin: Option<Origin>,
    ) -> Result<Seen, AttemptError> {
        let is_made_here = |found: &FoundState| found.is_made_here(known.known.as_ref());
        let found = read_state(server, &reconciled.place.id).await?;
        let found = found.map(|(found, _text)| found);
        let target = found.filter(|found| !is_made_here(found));
        let mut seen = Seen {
            target: target.map(|found| found.state),
            origin,
            source: Source::Unknown,
            text: None,
        };
        let is_settled = known.is_settled_by(seen.target.as_ref());
        if !is_settled && let Some(origin) = &seen.origin {
            let fetched = self.fetch(server, origin).await?;
            let fetched = fetched.filter(|(found, _text)| !is_made_here(found));
            (seen.source, seen.text) = match fetched {
                Some((found, text)) => (Source::State(found.state), Some(text)),
                None => (Source::Nothing, None),
            };
        }
        Ok(seen)
    }

    /// Stores a state in the workspace, under its lock.
    async fn push(
        &self,
        server: &Server,
        reconciled: &Reconciled,
        (text, state): (&[u8], &TerraformState),
        force: bool,
    ) -> Result<(), AttemptError> {
        let pushed =
            crate::remote_driver::push::push(server, &reconciled.place.id, (text, state), force)
                .await;
        Ok(pushed.map_err(|error| self.explained(error, reconciled))?)
    }

    /// The error of a missing right contains the steps by hand.
    fn explained(&self, error: RemoteError, reconciled: &Reconciled) -> RemoteError {
        if error.is_forbidden() {
            return RemoteError::Unmovable {
                task: self.run.lease.task_name.clone(),
                workspace: reconciled.place.name.clone(),
                error: Box::new(error),
            };
        }
        error
    }

    async fn mismatch(
        &self,
        refusal: Option<StateRefusal>,
        known: &StateRecord,
        seen: Seen,
        reconciled: &Reconciled,
    ) -> AttemptError {
        let mismatch = Mismatch {
            refusal,
            task: self.task.clone(),
            known: known.known.clone(),
            kind: self.kind,
            driver: REMOTE_DRIVER,
            backend: place(reconciled),
            target: seen.target,
            old: seen.origin.map(|origin| {
                let (kind, workspace) = origin.named();
                (kind, workspace, seen.source)
            }),
        };
        let refused = self.run.refuse_state(mismatch, &self.redactor);
        refused.await.into()
    }

    /// Logs the move in the log of the run and in the log of the worker.
    fn tell(&self, seen: &Seen, state: &TerraformState, reconciled: &Reconciled) {
        let Some(origin) = &seen.origin else { return };
        let (from, workspace) = origin.named();
        let (to, name) = (place(reconciled), &reconciled.place.name);
        self.say(&format!(
            "the state {} with serial {} was moved from {from:?}, workspace {workspace}, to {to:?}, workspace {name}",
            state.lineage, state.serial
        ));
        tracing::info!(
            task_name = self.run.lease.task_name,
            run.id = %self.run.lease.run,
            from,
            to,
            workspace = name,
            lineage = state.lineage,
            serial = state.serial,
            "the state was moved"
        );
    }

    /// Reports the state after a remote run, and the outputs in it. Without the right to read states a run reports
    /// neither.
    pub(super) async fn report_state(&self, remote: &RemoteRun, findings: &mut AttemptReport) {
        let read = async {
            let server = self.server().await?;
            read_state(&server, &remote.workspace.id).await
        };
        match read.await {
            Ok(None) => {}
            Ok(Some((found, text))) => {
                findings.state = Some(found.state);
                let names = &self.outputs;
                if self.kind == RunKind::Apply && !names.is_empty() {
                    findings.outputs = run_outputs(names, state_outputs(&text));
                }
            }
            Err(error) => {
                tracing::warn!(
                    task_name = self.run.lease.task_name,
                    error = %Chain(&error),
                    "the serial of the state cannot be read and is not reported"
                );
            }
        }
    }
}

/// The place of the state, as messages name it.
fn place(reconciled: &Reconciled) -> String {
    let place = &reconciled.place;
    format!("{REMOTE_DRIVER} {}/{}", place.hostname, place.organization)
}
