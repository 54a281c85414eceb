//! Freezing inputs and queueing runs.
//!
//! Before each round the leader takes all deltas that are ready. `cts_core::runs::decide_enqueue` decides which
//! inputs get a run.

use std::collections::HashSet;
use std::time::Duration;

use chrono::TimeDelta;
use cts_core::runs::{RunCause, RunKind, RunStatus};
use cts_core::{Chain, FrozenInput, RunTrace, TaskCheck, TaskName, ViewId, excerpt};
use cts_store::{
    EnqueueRequest, FailedStart, Guarded, LeaderError, Refused, RefusedCode, Unchanged,
};
use tokio::time::Instant;

use super::{LeaderLoop, STORE_RETRY};
use crate::leader::broken_modules::Usability;
use crate::leader::settings::InForce;
use crate::mode::Mode;
use crate::planner::{
    Cause, Decision, Due, DueData, DueTask, EnqueueReason, Overdue, RequestedRun, UnreadReason,
    UnreadView, add_later,
};

/// Most runs in one transaction, so that waiters for its locks do not wait long.
const BATCH: usize = 500;

/// Most bytes of contents in one transaction, unless a single run needs more.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Characters of the names of views in the log.
const VIEWS_LOGGED: usize = 300;

impl LeaderLoop {
    /// Freezes and queues due tasks, and refuses overdue requests. Requests that could not be stored before
    /// come first.
    pub(super) async fn enqueue_due(&mut self) {
        if self
            .not_before
            .is_some_and(|moment| moment > Instant::now())
            || !self.settle().await
            || !self.judge_brake().await
            || !self.save().await
        {
            return;
        }
        let now = self.started.elapsed();
        self.planner
            .tick(now, self.context.clock.now(), &self.context.next_tick);
        let wanted = self.planner.wanted_inputs(now);
        if let Err(error) = self.note_applied(wanted).await {
            cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot read what was applied last, trying again");
            self.not_before = Some(Instant::now() + STORE_RETRY);
            return;
        }
        // The inputs that were just read may have made a task due.
        let now = self.started.elapsed();
        let Due { tasks, overdue } = self.planner.take_due(now);
        self.note_late(&tasks);
        for task in std::mem::take(&mut self.unfrozen)
            .into_values()
            .chain(tasks)
        {
            let Some(settings) = self.settings.of(&task.definition) else {
                self.keep_unfrozen(task);
                continue;
            };
            let frozen = frozen(&task, settings);
            let fails = match self.usability(&task) {
                Usability::Usable => None,
                Usability::Unusable(error) => Some(FailedStart {
                    event: self.context.identities.event_id(),
                    error,
                }),
                Usability::BeingRead => {
                    self.keep_unfrozen(task);
                    continue;
                }
            };
            match frozen {
                Ok(frozen) => {
                    let mut request = self.enqueue_request(&task, frozen);
                    request.fails = fails;
                    if let (EnqueueReason::Change { .. }, None) = (task.reason, &request.fails) {
                        let arrived = self.started + task.changed_at;
                        self.context.metrics.changes.begin(request.run, arrived);
                    }
                    self.unsaved.push(request);
                }
                Err(error) => self.not_frozen(&task, &error).await,
            }
        }
        self.broken.decided();
        self.save().await;
        for overdue in overdue {
            let refused = Refused {
                code: RefusedCode::Incomplete,
                reason: not_complete(&overdue, self.context.input_timeout),
            };
            let Overdue {
                task, requested, ..
            } = overdue;
            self.refuse(&task, requested, &refused).await;
        }
    }

    /// Counts and logs inputs that have waited for a read in vain.
    fn note_late(&self, tasks: &[DueTask]) {
        for task in tasks {
            let late = |unread: &&UnreadView| unread.reason == UnreadReason::Late;
            let late = task.unread.iter().filter(late);
            let views: Vec<&str> = late.map(|unread| unread.view.as_str()).collect();
            if !views.is_empty() {
                self.context.metrics.input_is_late();
                let views = excerpt(&views.join(", "), VIEWS_LOGGED);
                tracing::info!(task_name = %task.definition.name, views, "the input is frozen before these views were read since its trigger, and is compared when they are");
            }
        }
    }

    fn keep_unfrozen(&mut self, mut task: DueTask) {
        let requested = match &task.reason {
            EnqueueReason::Request(requested) => Some(requested.run),
            EnqueueReason::Change { .. } => None,
        };
        // Every held input of the task gets the newest data, whichever is frozen last.
        let name = &task.definition.name;
        let held = self.unfrozen.range_mut((name.clone(), None)..);
        for (_key, held) in held.take_while(|((of, _run), _held)| of == name) {
            if let (DueData::Complete(held), DueData::Complete(newer)) =
                (&mut held.data, &task.data)
            {
                held.clone_from(newer);
            }
        }
        let key = (name.clone(), requested);
        if let Some(before) = self.unfrozen.remove(&key)
            && let EnqueueReason::Change { first, tick } = &mut task.reason
            && let EnqueueReason::Change {
                first: was_first,
                tick: has_ticked,
            } = before.reason
        {
            *first |= was_first;
            *tick |= has_ticked;
            task.cause = match (before.cause, task.cause) {
                (Some(mut before), Some(later)) => {
                    before.merge(later);
                    Some(before)
                }
                (before, later) => before.or(later),
            };
            let later = std::mem::replace(&mut task.causes, before.causes);
            add_later(&mut task.causes, &later);
        }
        self.unfrozen.insert(key, task);
    }

    /// Queues the frozen inputs. Returns whether the next input may be frozen: not without an epoch, and not
    /// before all are stored.
    async fn save(&mut self) -> bool {
        let Some(epoch) = self.term.epoch() else {
            return false;
        };
        self.not_before = None;
        while !self.unsaved.is_empty() {
            let batch = batch(&self.unsaved);
            match self.context.store.enqueue(epoch, batch.to_vec()).await {
                Ok(enqueued) => {
                    let requests: Vec<_> = self.unsaved.drain(..batch.len()).collect();
                    for (enqueued, request) in enqueued.iter().zip(requests) {
                        self.report(enqueued, &request);
                    }
                    self.look_soon();
                }
                Err(LeaderError::Deposed { .. }) => {
                    self.term.end(epoch);
                    return false;
                }
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot queue runs, trying again");
                    // The write may still take effect. With the next epoch the late write cannot undo newer writes.
                    self.term.end(epoch);
                    self.not_before = Some(Instant::now() + STORE_RETRY);
                    return false;
                }
            }
        }
        true
    }

    fn enqueue_request(&self, task: &DueTask, input: FrozenInput) -> EnqueueRequest {
        self.context.recent_inputs.keep(&input);
        let name = task.definition.name.clone();
        let check_key = match task.data {
            DueData::NotNeeded => Some(TaskCheck::key(input.hash, &task.engine)),
            DueData::Complete(_) => None,
        };
        let guarded = match &task.data {
            DueData::Complete(input) if !task.guard.is_empty() || self.brake.is_some() => {
                let counts = input.instance_counts();
                let brake = self.brake.as_ref();
                Some(Guarded {
                    guard: task.guard,
                    brake: brake.and_then(|brake| brake.reference(&counts)),
                    counts,
                    is_of_pass: self.context.mode == Mode::OnRequest,
                })
            }
            _ => None,
        };
        match task.reason {
            EnqueueReason::Request(requested) => EnqueueRequest {
                task: name,
                input,
                run: requested.run,
                kind: requested.kind,
                unchanged: Unchanged::Run,
                guarded,
                tick: None,
                check_key,
                trace: None,
                cause: None,
                causes: task.causes.clone(),
                fails: None,
            },
            EnqueueReason::Change { first, tick } => EnqueueRequest {
                task: name,
                input,
                run: self.context.identities.run_id(),
                kind: RunKind::Apply,
                unchanged: if first {
                    self.first_pass
                } else {
                    Unchanged::AsTaskSays
                },
                guarded,
                tick: (tick && !first).then(|| self.context.identities.event_id()),
                check_key: None,
                trace: self.trace(task.cause.as_ref()),
                cause: Some(self.run_cause(task, (first, tick))),
                causes: task.causes.clone(),
                fails: None,
            },
        }
    }

    /// The cause that is stored with a run of a change.
    fn run_cause(&self, task: &DueTask, (takeover, tick): (bool, bool)) -> RunCause {
        let mut noted = RunCause {
            tick,
            takeover,
            beginning: takeover.then(|| self.beginning.to_owned()),
            ..RunCause::default()
        };
        for unread in &task.unread {
            noted.note_unread(&unread.to_string());
        }
        if let Some(cause) = &task.cause {
            let waited = self.started.elapsed().saturating_sub(cause.since);
            let waited = TimeDelta::from_std(waited).ok();
            noted.triggered_at = waited.map(|waited| self.context.clock.now() - waited);
            for line in &cause.lines {
                noted.note(line);
            }
            noted.more_changes = noted.more_changes.saturating_add(cause.more_lines);
        }
        noted
    }

    /// The trace of a run with this cause; `None` without tracing.
    fn trace(&self, cause: Option<&Cause>) -> Option<RunTrace> {
        let now = self.context.spans.traces.now()?;
        let waited = self.started.elapsed().saturating_sub(cause?.since);
        let mut changes = cause?.changes.iter().copied();
        let mut trace = RunTrace {
            parent: changes.next(),
            links: Vec::new(),
            triggered_at: TimeDelta::from_std(waited).ok().map(|waited| now - waited),
        };
        for change in changes {
            trace.link(change);
        }
        Some(trace)
    }

    async fn not_frozen(&mut self, task: &DueTask, error: &serde_json::Error) {
        let name = &task.definition.name;
        tracing::error!(task_name = %name, error = %error, "cannot freeze the input of a task");
        let now = self.started.elapsed();
        let decision = Decision::Failed(error.to_string());
        self.planner.decided(name, now, decision);
        match task.reason {
            EnqueueReason::Change { .. } => {
                self.planner.give_back(name, task.causes.clone());
                self.planner.postpone(name, now, now + STORE_RETRY);
            }
            EnqueueReason::Request(requested) => {
                let refused = Refused {
                    code: RefusedCode::Unusable,
                    reason: format!("the input of task {name} cannot be used: {error}"),
                };
                self.refuse(name, requested, &refused).await;
            }
        }
    }

    /// Stores that a request cannot be carried out. If that fails, the next poll finds the request again, and
    /// it gets more time.
    async fn refuse(&self, task: &TaskName, requested: RequestedRun, refused: &Refused) {
        let RequestedRun { run, kind } = requested;
        let Some(epoch) = self.term.epoch() else {
            return;
        };
        tracing::warn!(target: "ctrl", reason = refused.reason, run.id = %run, "a run that was asked for is refused");
        match self.context.store.refuse(epoch, run, refused).await {
            Ok(()) => self
                .context
                .notifier
                .run_changed(run, task, kind, RunStatus::Failed),
            Err(LeaderError::Deposed { .. }) => self.term.end(epoch),
            Err(LeaderError::Store(error)) => {
                cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot refuse a run, trying again");
            }
        }
    }
}

fn frozen(task: &DueTask, settings: InForce) -> Result<FrozenInput, serde_json::Error> {
    let frozen = match &task.data {
        DueData::Complete(input) => input.freeze(settings.identity),
        DueData::NotNeeded => {
            FrozenInput::for_check_without_data(&task.definition, settings.identity)
        }
    };
    Ok(frozen?.for_settings(settings.number))
}

/// Returns the first requests for one transaction, at least one request.
fn batch(requests: &[EnqueueRequest]) -> &[EnqueueRequest] {
    let mut known = HashSet::new();
    let mut bytes = 0;
    let fits = |request: &&EnqueueRequest| {
        for content in &request.input.contents {
            if known.insert(content.hash) {
                bytes += content.bytes.len();
            }
        }
        bytes <= BATCH_BYTES
    };
    let fitting = requests.iter().take(BATCH).take_while(fits).count();
    &requests[..fitting.max(1).min(requests.len())]
}

fn not_complete(overdue: &Overdue, request_timeout: Duration) -> String {
    if let Some((view, text)) = &overdue.refusal {
        return format!(
            "error initializing task {}: unable to retrieve data from Consul: {view}: {text}",
            overdue.task
        );
    }
    let incomplete = overdue.incomplete.as_ref();
    let missing = incomplete.into_iter().flat_map(|incomplete| {
        let missing = incomplete.missing.iter();
        let unreadable = incomplete.unreadable.iter();
        missing.chain(unreadable.map(|unreadable| &unreadable.view))
    });
    let missing: Vec<&str> = missing.map(ViewId::as_str).collect();
    format!(
        "error initializing task {}: the data that it needs was not complete within {}s; nothing is known of {}",
        overdue.task,
        request_timeout.as_secs(),
        missing.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cts_core::{Content, FrozenInput, RunId};

    use super::*;

    fn request(contents: &[&Arc<Content>]) -> EnqueueRequest {
        let contents = contents.iter().copied().map(Arc::clone);
        EnqueueRequest {
            task: "t".parse().unwrap(),
            input: FrozenInput::of_contents(contents.collect()),
            run: RunId::from_uuid(uuid::Uuid::nil()),
            kind: RunKind::Apply,
            unchanged: Unchanged::AsTaskSays,
            guarded: None,
            tick: None,
            check_key: None,
            trace: None,
            cause: None,
            causes: Vec::new(),
            fails: None,
        }
    }

    #[test]
    fn a_batch_is_bounded_by_runs_and_by_the_bytes_that_they_do_not_share() {
        let of_bytes = |byte: u8, length: usize| Arc::new(Content::from_bytes(vec![byte; length]));
        let shared = of_bytes(0, BATCH_BYTES);
        let many: Vec<_> = (0..BATCH + 7).map(|_| request(&[&shared])).collect();
        assert_eq!(batch(&many).len(), BATCH);
        let large: Vec<_> = (1..6)
            .map(|n| request(&[&of_bytes(n, BATCH_BYTES / 2)]))
            .collect();
        assert_eq!(batch(&large).len(), 2);
        let huge = [
            request(&[&of_bytes(9, BATCH_BYTES + 1)]),
            request(&[&shared]),
        ];
        assert_eq!(batch(&huge).len(), 1);
        assert_eq!(batch(&[]).len(), 0);
    }
}
