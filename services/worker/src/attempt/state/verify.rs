//! Before an apply: verifies that the state at the task's place is the task's, and moves the state if it is elsewhere.
//!
//! The process may die at any step. A move that cts decides is recorded before it is done: from then on every directory
//! has to be verified again, also where the state was before, and the next attempt finds the state at one of the two
//! places. A decision by a person is carried out first and recorded then, because the record forgets the decision.

use cts_core::runs::RunKind;
use cts_core::state::{Decision, Source, StateRefusal, StateReport, TerraformState};
use cts_core::{Backend, Chain, DEFAULT_DRIVER, REMOTE_DRIVER};
use cts_terraform::{
    BackendIdentity, FetchedState, FoundState, OutputLine, OutputStream, ReadState, StateOrigin,
    Terraform,
};
use tokio::time::sleep;

use super::TaskState;
use crate::attempt::own_lock::retry_after_unlock;
use crate::outcome::attempt_error::AttemptError;
use crate::outcome::mismatch::Mismatch;
use crate::outcome::state_error::StateError;
use crate::remote_driver::previous::state_of_workspace;

/// The state that was read at the task's place right before, if any.
struct Looked(Option<TerraformState>);

/// The states that were found at the two places.
struct Seen {
    target: Option<TerraformState>,
    origin: Option<StateOrigin>,
    source: Source,
    fetched: Option<FetchedState>,
}

impl TaskState<'_> {
    /// Verifies that the state at the task's place belongs to the task. If the state is to be moved and this run
    /// changes something, moves the state there. `looked` is the state that was read there right before, if any.
    /// Returns its lineage, if a state was found.
    pub(crate) async fn verify(
        &self,
        looked: Option<ReadState>,
    ) -> Result<Option<String>, AttemptError> {
        let known = &self.known;
        let lineage = || known.known.as_ref().map(|known| known.lineage.clone());
        let is_pending = known.is_pending();
        let identity = BackendIdentity::of(self.here.attempt, self.backend);
        let is_verified = Terraform::is_verified(self.here.attempt, identity, known.moves);
        let looked = looked.map(|ReadState(found)| Looked(self.state_of(found)));
        let has_lapsed = looked
            .as_ref()
            .is_some_and(|Looked(found)| self.lapse(found.as_ref()).is_some());
        if !is_pending && is_verified && !has_lapsed {
            Terraform::forget_previous_backend(self.here.attempt)?;
            return Ok(lineage());
        }
        let origin = self.origin()?;
        if known.known.is_none() && !is_pending && origin.is_none() {
            // The task accepts any state that it finds.
            Terraform::set_verified(self.here.attempt, identity, known.moves)?;
            return Ok(None);
        }
        let had_it = Terraform::was_verified(self.here.attempt, identity);
        let mut seen = self.read_both(looked, origin).await?;
        let decided = known.decide(seen.target.as_ref(), &seen.source);
        if matches!(decided, Decision::Refuse(_)) && !is_pending && self.kind.changes_resources() {
            // The place may be recovering, such as a restarted Consul.
            self.pause().await?;
            seen = self.read_both(None, seen.origin).await?;
        }
        match known.decide(seen.target.as_ref(), &seen.source) {
            Decision::GoOn(state) => {
                let lineage = state.as_ref().map(|state| state.lineage.clone());
                if !is_pending {
                    Terraform::set_verified(self.here.attempt, identity, known.moves)?;
                } else if self.kind.changes_resources() && state.is_some() {
                    // Without a state the decision stays in force until a state exists.
                    let moves = self
                        .here
                        .run
                        .record_state(StateReport::Accepted(state))
                        .await?;
                    Terraform::set_verified(self.here.attempt, identity, moves)?;
                }
                Ok(lineage)
            }
            Decision::Refuse(refusal) => {
                let had_it = had_it && !is_pending;
                let found = seen.target.as_ref();
                let refusal = refusal.at_place(had_it, known.known.as_ref(), found);
                Err(self.refused(Some(refusal), seen).await)
            }
            Decision::Move { .. } if !self.kind.changes_resources() => {
                Err(self.refused(None, seen).await)
            }
            Decision::Move { force } => {
                let Some(fetched) = &seen.fetched else {
                    return Err(self.refused(Some(StateRefusal::NoSource), seen).await);
                };
                let state = fetched.found.state.clone();
                let lineage = state.lineage.clone();
                let moved = StateReport::Moved(state);
                let moves = if is_pending {
                    self.push(fetched, force).await?;
                    self.here.run.record_state(moved).await?
                } else {
                    let moves = self.here.run.record_state(moved).await?;
                    self.push(fetched, force).await?;
                    moves
                };
                self.tell(&seen, fetched);
                Terraform::set_verified(self.here.attempt, identity, moves)?;
                Ok(Some(lineage))
            }
        }
    }

    /// Returns a refusal if the state at the known place is not the known state. A destruction is judged by the state
    /// afterwards, which shows everything but resources that an earlier version does not have.
    fn lapse(&self, found: Option<&TerraformState>) -> Option<StateRefusal> {
        let lapse = self.known.lapse(found);
        lapse.filter(|lapse| self.kind == RunKind::Apply || *lapse == StateRefusal::Older)
    }

    /// The identity of a state, unless Terraform has made the state by itself.
    fn state_of(&self, found: Option<FoundState>) -> Option<TerraformState> {
        let found = found.filter(|found| !found.is_made_here(self.known.known.as_ref()));
        found.map(|found| found.state)
    }

    /// Waits before a second look.
    async fn pause(&self) -> Result<(), AttemptError> {
        tokio::select! {
            () = sleep(self.here.run.shared.options.second_look) => Ok(()),
            () = self.here.attempt.stop.cancelled() => Err(AttemptError::Stopped),
        }
    }

    /// Once an apply has made the first state, carries out the decision to begin with the existing state: from then on
    /// the new state is the task's.
    pub(crate) async fn settle(&self, found: Option<&str>, made: Option<&TerraformState>) {
        if let (true, None, Some(made)) = (self.known.is_pending(), found, made)
            && let Err(error) = self.record_made(made).await
        {
            tracing::debug!(
                task_name = %self.here.attempt.task,
                error = %Chain(&error),
                "the next apply carries the decision about the state out"
            );
        }
    }

    async fn record_made(&self, made: &TerraformState) -> Result<(), AttemptError> {
        let report = StateReport::Accepted(Some(made.clone()));
        let moves = self.here.run.record_state(report).await?;
        let identity = BackendIdentity::of(self.here.attempt, self.backend);
        Terraform::set_verified(self.here.attempt, identity, moves)?;
        Ok(())
    }

    /// The other place of the state, if the state is not at the task's place: the workspace that an operator named, the
    /// configured previous backend, or the backend that the directory was initialised for before.
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
        let task = &self.here.attempt.task;
        Ok(previous.map(|backend| options.origin(backend, task.clone())))
    }

    /// Reads the state at the task's place, unless it was read before, and at the other place if that state matters.
    async fn read_both(
        &self,
        looked: Option<Looked>,
        origin: Option<StateOrigin>,
    ) -> Result<Seen, AttemptError> {
        let target = match looked {
            Some(Looked(target)) => target,
            None => self.state_of(self.read().await?),
        };
        let known = self.known.known.as_ref();
        let mut seen = Seen {
            target,
            origin,
            source: Source::Unknown,
            fetched: None,
        };
        let is_settled = self.known.is_settled_by(seen.target.as_ref());
        if !is_settled && let Some(origin) = &seen.origin {
            seen.fetched = self.fetch(origin).await?;
            seen.source = match &seen.fetched {
                Some(fetched) if !fetched.found.is_made_here(known) => {
                    Source::State(fetched.found.state.clone())
                }
                Some(_) | None => Source::Nothing,
            };
        }
        Ok(seen)
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
        Err(StateError::unreadable(&origin.backend, &error)?.into())
    }

    async fn push(&self, fetched: &FetchedState, force: bool) -> Result<(), AttemptError> {
        let terraform = self.here.terraform;
        let push = || terraform.push_state(self.here.attempt, fetched, force);
        retry_after_unlock(self.here, push).await
    }

    async fn refused(&self, refusal: Option<StateRefusal>, seen: Seen) -> AttemptError {
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
        let refused = self.here.run.refuse_state(mismatch, self.redactor);
        refused.await.into()
    }

    /// Logs the move in the log of the run and in the log of the worker.
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
