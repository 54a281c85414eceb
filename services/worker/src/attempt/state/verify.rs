//! Before anything is applied: whether the state at the task's place is the task's, and its move if it is
//! elsewhere.
//!
//! A process may die anywhere here. A move that cts decides is recorded before it is done: from then on every
//! directory has to be verified again, also where the state was before, and the next attempt finds the state
//! at one of both places. A decision by a person is carried out first and recorded then, because the record
//! forgets the decision.

use cts_core::runs::RunKind;
use cts_core::state::{
    Decision, Keep, Refusal, Source, StateReport, TerraformState, decide, decide_from,
};
use cts_core::{Backend, Chain, DEFAULT_DRIVER, REMOTE_DRIVER};
use cts_terraform::{
    BackendIdentity, FetchedState, OutputLine, OutputStream, ReadState, StateOrigin, Terraform,
    read_directly,
};

use super::TaskState;
use super::mismatch::Mismatch;
use crate::attempt::attempt_error::AttemptError;
use crate::attempt::own_lock::retry_after_unlock;
use crate::attempt::state_error::StateError;
use crate::redaction::Redactor;
use crate::remote::previous::state_of_workspace;

/// The states that were found at both places.
struct Seen {
    target: Option<TerraformState>,
    origin: Option<StateOrigin>,
    source: Source,
    fetched: Option<FetchedState>,
}

impl TaskState<'_> {
    /// Verifies that the state at the task's place is the task's, and moves it there if it is to be moved and
    /// this run changes something. Returns its lineage, if a state was found.
    pub(crate) async fn verify(&self) -> Result<Option<String>, AttemptError> {
        let known = &self.known;
        let lineage = || known.known.as_ref().map(|known| known.lineage.clone());
        let is_pending = known.keep.is_some() || known.from.is_some();
        let identity = BackendIdentity::of(self.here.attempt, self.backend);
        let is_verified = Terraform::is_verified(self.here.attempt, identity, known.moves);
        if !is_pending && is_verified && !self.is_gone() {
            Terraform::forget_previous_backend(self.here.attempt)?;
            return Ok(lineage());
        }
        let origin = self.origin()?;
        if known.known.is_none() && !is_pending && origin.is_none() {
            // The task takes any state that it finds.
            Terraform::set_verified(self.here.attempt, identity, known.moves)?;
            return Ok(None);
        }
        let seen = self.read_both(origin).await?;
        match self.decide(seen.target.as_ref(), &seen.source) {
            Decision::GoOn(state) => {
                let lineage = state.as_ref().map(|state| state.lineage.clone());
                if !is_pending {
                    Terraform::set_verified(self.here.attempt, identity, known.moves)?;
                } else if self.changes_something() && state.is_some() {
                    // Without a state the decision stays in force until a state exists.
                    let moves = self.record(StateReport::Accepted(state)).await?;
                    Terraform::set_verified(self.here.attempt, identity, moves)?;
                }
                Ok(lineage)
            }
            Decision::Refuse(refusal) => Err(self.refused(Some(refusal), seen).await),
            Decision::Move { .. } if !self.changes_something() => {
                Err(self.refused(None, seen).await)
            }
            Decision::Move { force } => {
                let Some(fetched) = &seen.fetched else {
                    return Err(self.refused(Some(Refusal::NoSource), seen).await);
                };
                let state = fetched.found.state.clone();
                let lineage = state.lineage.clone();
                let moved = StateReport::Moved(state);
                let moves = if is_pending {
                    self.push(fetched, force).await?;
                    self.record(moved).await?
                } else {
                    let moves = self.record(moved).await?;
                    self.push(fetched, force).await?;
                    moves
                };
                self.tell(&seen, fetched);
                Terraform::set_verified(self.here.attempt, identity, moves)?;
                Ok(Some(lineage))
            }
        }
    }

    /// Whether the known state is a file that was lost since the directory was verified. An apply would
    /// create everything again. A destruction is judged by the state afterwards.
    fn is_gone(&self) -> bool {
        self.kind == RunKind::Apply
            && self.known.known.is_some()
            && read_directly(self.here.attempt, self.backend) == Some(ReadState(None))
    }

    const fn changes_something(&self) -> bool {
        matches!(self.kind, RunKind::Apply | RunKind::Destroy)
    }

    /// The other place of the state, if it is not at the task's place: the workspace that a person has named,
    /// the configured previous backend, or the backend that the directory was initialised for before.
    #[expect(
        clippy::result_large_err,
        reason = "one is made for an attempt, which takes a process"
    )]
    fn origin(&self) -> Result<Option<StateOrigin>, AttemptError> {
        let options = &self.here.run.shared.options;
        if let Some(earlier) = &self.known.from {
            return Ok(Some(StateOrigin {
                backend: self.backend.clone(),
                workspace: earlier.clone(),
                environment: Vec::new(),
            }));
        }
        let configured = options.previous_backend.clone();
        let configured = configured.filter(|previous| previous != self.backend);
        let previous = match configured {
            Some(previous) => Some(previous),
            None => Terraform::previous_backend(self.here.attempt)?,
        };
        Ok(previous.map(|backend| StateOrigin {
            environment: match &*backend.kind {
                "consul" => options.consul_environment.clone(),
                _ => Vec::new(),
            },
            workspace: self.here.attempt.task.clone(),
            backend,
        }))
    }

    /// Reads the state at the task's place, and at the other place if that matters.
    async fn read_both(&self, origin: Option<StateOrigin>) -> Result<Seen, AttemptError> {
        let found = self.read().await?;
        let known = self.known.known.as_ref();
        // Terraform makes such a state by itself if a workspace is only named, or a push is cut off.
        let is_made_here = |found: &cts_terraform::FoundState| {
            found.is_placeholder && known.is_none_or(|known| known.lineage != found.state.lineage)
        };
        let found = found.filter(|found| !is_made_here(found));
        let mut seen = Seen {
            target: found.map(|found| found.state),
            origin,
            source: Source::Unknown,
            fetched: None,
        };
        let first = self.decide(seen.target.as_ref(), &seen.source);
        let is_settled =
            matches!(first, Decision::GoOn(Some(_))) || self.known.keep == Some(Keep::New);
        if !is_settled && let Some(origin) = &seen.origin {
            seen.fetched = self.fetch(origin).await?;
            seen.source = match &seen.fetched {
                Some(fetched) if !is_made_here(&fetched.found) => {
                    Source::State(fetched.found.state.clone())
                }
                Some(_) | None => Source::Nothing,
            };
        }
        Ok(seen)
    }

    fn decide(&self, target: Option<&TerraformState>, source: &Source) -> Decision {
        let known = &self.known;
        if known.from.is_some() {
            decide_from(target, source, known.keep)
        } else {
            decide(known.known.as_ref(), target, source, known.keep)
        }
    }

    /// The state of the other place. Terraform's messages about that place may have its credentials.
    async fn fetch(&self, origin: &StateOrigin) -> Result<Option<FetchedState>, AttemptError> {
        if origin.backend.kind == REMOTE_DRIVER {
            let values = &self.here.run.shared.values;
            let text = state_of_workspace(&origin.backend, &origin.workspace, values).await?;
            let kept = text.map(|text| FetchedState::keep(self.here.attempt, &text));
            return Ok(kept.transpose()?.flatten());
        }
        let terraform = self.here.terraform;
        let error = match terraform.fetch_state(self.here.attempt, origin).await {
            Ok(fetched) => return Ok(fetched),
            Err(error) if error.is_interrupted() || error.has_left_processes() => {
                return Err(error.into());
            }
            Err(error) => error,
        };
        let mut credentials = Vec::new();
        for credential in origin.backend.credentials() {
            crate::values::texts_of(credential, &mut credentials);
        }
        let text = Chain(&error).to_string();
        let text = Redactor::new(credentials)?.redact(&text).into_owned();
        let kind = origin.backend.kind.clone();
        Err(StateError::Unreadable { kind, text }.into())
    }

    async fn push(&self, fetched: &FetchedState, force: bool) -> Result<(), AttemptError> {
        let terraform = self.here.terraform;
        let push = || terraform.push_state(self.here.attempt, fetched, force);
        retry_after_unlock(self.here, push).await
    }

    async fn record(&self, report: StateReport) -> Result<u32, StateError> {
        let scheduler = &self.here.run.shared.scheduler;
        let recorded = scheduler.record_state(&self.here.run.lease, report).await;
        recorded.map_err(StateError::Unrecorded)
    }

    /// The error of a refused run; the task keeps it, so that it can be shown.
    async fn refused(&self, refusal: Option<Refusal>, seen: Seen) -> AttemptError {
        let mismatch = Mismatch {
            refusal,
            task: self.here.attempt.task.clone(),
            known: self.known.known.clone(),
            kind: self.kind,
            driver: DEFAULT_DRIVER,
            backend: self.backend.kind.clone(),
            target: seen.target,
            old: seen.origin.map(|origin| {
                let Backend { kind, .. } = origin.backend;
                (kind, origin.workspace, seen.source)
            }),
        };
        if self.changes_something() {
            let conflict = StateReport::Refused(mismatch.conflict(self.redactor));
            if let Err(error) = self.record(conflict).await {
                tracing::debug!(task_name = %self.here.attempt.task, error = %Chain(&error), "the conflict is not recorded");
            }
        }
        StateError::Mismatch(Box::new(mismatch)).into()
    }

    /// Logs the move in the log of the run and in that of the worker.
    fn tell(&self, seen: &Seen, fetched: &FetchedState) {
        let Some(origin) = &seen.origin else { return };
        let state = &fetched.found.state;
        let text = format!(
            "cts: the state {} with serial {} was moved from backend {:?}, workspace {}, to backend {:?}, workspace {}",
            state.lineage,
            state.serial,
            origin.backend.kind,
            origin.workspace,
            self.backend.kind,
            self.here.attempt.task,
        );
        self.here
            .attempt
            .output
            .line(OutputLine::new(OutputStream::Stdout, text));
        tracing::info!(
            task_name = %self.here.attempt.task,
            run.id = %self.here.run.lease.run,
            from = origin.backend.kind,
            to = self.backend.kind,
            workspace = %origin.workspace,
            lineage = state.lineage,
            serial = state.serial,
            "the state was moved"
        );
    }
}
