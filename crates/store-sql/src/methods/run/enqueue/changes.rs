//! Writes for many requests, in a few statements.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::runs::Cause;
use cts_core::{
    CauseId, Digest, EventId, FrozenInput, InstanceCounts, PLANS_EVERY, RunId, TaskName,
};
use cts_store::enqueue::{
    EffectsAre, EnqueueError, EnqueuePlan, GuardChange, stored_cause, stored_trace,
};
use cts_store::{EncodedContents, EnqueueRequest, FailedStart, Refused, StoreError};
use serde_json::{Value, json};

use crate::settings::stored;
use crate::{
    Connection, causes, checks, effects, failed_starts, requests, shrink_limits, sql, tick_events,
};

/// The changes of one wave: each task occurs at most once.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    /// Sorted by hash, so that two transactions that store the same inputs do not deadlock.
    inputs: BTreeMap<Digest, &'a FrozenInput>,
    /// Rows of runs.
    new: Vec<Value>,
    /// Requests that new runs carry out.
    carried_out: Vec<RunId>,
    /// Rows of queued runs with newer inputs.
    replaced: Vec<Value>,
    /// Tasks whose newest input has not failed yet.
    begun_anew: Vec<&'a str>,
    /// Tasks whose input gets all its attempts again.
    not_tried: Vec<&'a str>,
    /// Tasks without a withheld input from now on.
    not_withheld: Vec<&'a str>,
    cancelled_tasks: Vec<&'a str>,
    skipped_tasks: Vec<&'a str>,
    ticks: Vec<(&'a TaskName, EventId)>,
    checks: Vec<(&'a TaskName, Digest, RunId)>,
    /// Runs that fail now.
    failed: Vec<(&'a EnqueueRequest, RunId, &'a FailedStart)>,
    /// Requests that the shrink limit or a withheld input blocks.
    refused: Vec<(RunId, Refused)>,
    /// Instances in the inputs of tasks with a shrink limit.
    guarded: Vec<(Digest, &'a InstanceCounts)>,
    guards: Vec<(&'a str, GuardChange)>,
    /// Tasks whose data need none of their effects now.
    effects_gone: Vec<&'a str>,
    /// Inputs whose effects are needed again.
    effects_back: Vec<(&'a str, Digest)>,
    /// Queued runs with effects that need consent, which get another input.
    other_inputs: Vec<RunId>,
    causes: BTreeMap<CauseId, &'a Arc<Cause>>,
    caused: Vec<Value>,
}

impl<'a> Changes<'a> {
    pub(super) fn add(
        &mut self,
        request: &'a EnqueueRequest,
        plan: &EnqueuePlan,
        now: i64,
    ) -> Result<(), StoreError> {
        let task = request.task.as_str();
        let if_so = |holds: bool| holds.then_some(task);
        self.not_tried.extend(if_so(plan.not_tried));
        self.cancelled_tasks.extend(if_so(plan.cancels));
        self.begun_anew.extend(if_so(plan.begins_anew));
        self.not_withheld.extend(if_so(plan.ends_withholding));
        self.skipped_tasks.extend(if_so(plan.skips));
        self.ticks
            .extend(plan.tick.map(|event| (&request.task, event)));
        let check = plan.check_key.map(|key| (&request.task, key, request.run));
        self.checks.extend(check);
        let failed = plan.fails.zip(request.fails.as_ref());
        self.failed
            .extend(failed.map(|(run, failed)| (request, run, failed)));
        let refused = plan.answer.refused.clone();
        self.refused.extend(refused.map(|why| (request.run, why)));
        let guard = plan.guard.clone();
        self.guards.extend(guard.map(|change| (task, change)));
        match plan.effects {
            Some(EffectsAre::Gone) => self.effects_gone.push(task),
            Some(EffectsAre::Back) => self.effects_back.push((task, request.input.hash)),
            None => {}
        }
        if plan.inserts.is_none() && !plan.replaces {
            return Ok(());
        }
        self.inputs.insert(request.input.hash, &request.input);
        let guarded = request.guarded.as_ref();
        self.guarded
            .extend(guarded.map(|guarded| (request.input.hash, &guarded.counts)));
        if let Some(run) = plan.answer.queued {
            let causes = request.causes.iter();
            self.causes.extend(causes.map(|cause| (cause.id, cause)));
            self.caused.extend(causes::links(run, plan.cause.as_ref()));
        }
        let row = |id: Option<RunId>| {
            Ok::<_, StoreError>(json!({
                "id": id.map(|id| id.to_string()),
                "input": request.input.hash.to_string(),
                "settings": request.input.settings.map(stored),
                "trace": stored_trace(plan.trace.as_ref())?,
                "cause": stored_cause(plan.cause.as_ref())?,
            }))
        };
        if plan.replaces {
            self.other_inputs
                .extend(plan.effects.and(plan.answer.queued));
            self.replaced.push(row(plan.answer.queued)?);
        }
        if let Some(new) = plan.inserts {
            let mut row = row(Some(request.run))?;
            row["task"] = task.into();
            row["kind"] = request.kind.as_str().into();
            row["requested"] = new.requested.into();
            row["due"] = new.place.map_or(now, |place| place.min(now)).into();
            self.new.push(row);
            self.carried_out
                .extend(new.requested.then_some(request.run));
        }
        Ok(())
    }

    pub(super) async fn write(
        self,
        c: &mut dyn Connection,
        encoded: &EncodedContents,
        now: i64,
    ) -> Result<(), EnqueueError> {
        if !self.inputs.is_empty() {
            c.store_inputs(&self.inputs, encoded, now).await?;
        }
        shrink_limits::note_instances(c, &self.guarded).await?;
        shrink_limits::write(c, &self.guards).await?;
        if !self.cancelled_tasks.is_empty() {
            let cancelled = sql(
                "cancel queued runs",
                "-- enqueue: cancel; index runs_one_queued
                UPDATE runs SET status = 'cancelled', finished_at = $2, updated_at = $2
                WHERE task_name {in $1} AND status = 'queued' AND kind = 'apply'",
            );
            let cancelled = cancelled.bind(&*self.cancelled_tasks).bind(now);
            cancelled.execute(c).await?;
        }
        insert(c, self.new, &self.carried_out, now).await?;
        replace(c, self.replaced, now).await?;
        causes::store(c, &self.causes, self.caused).await?;
        effects::end_use(c, &self.other_inputs).await?;
        for (tasks, text) in [
            (
                self.begun_anew,
                "-- enqueue: a newer input has not failed yet
                UPDATE tasks SET failures = 0 WHERE name {in $1}",
            ),
            (
                self.not_tried,
                "-- enqueue: not tried yet
                UPDATE tasks SET tried_input = NULL WHERE name {in $1}",
            ),
            (
                self.not_withheld,
                "-- enqueue: not withheld
                UPDATE tasks SET cancelled_input = NULL WHERE name {in $1}",
            ),
            (
                self.skipped_tasks,
                "-- enqueue: count skips
                UPDATE tasks SET skipped = skipped + 1 WHERE name {in $1}",
            ),
        ] {
            if !tasks.is_empty() {
                let noted = sql("note a decision about an input", text).bind(&*tasks);
                noted.execute(c).await?;
            }
        }
        for (task, key, run) in self.checks {
            checks::begin(c, task, key, run).await?;
        }
        for (request, run, failed) in self.failed {
            failed_starts::end(c, request, run, failed).await?;
        }
        for (run, why) in &self.refused {
            requests::refuse_locked(c, *run, why).await?;
        }
        tick_events::store(c, &self.ticks).await?;
        effects::note_gone(c, (&self.effects_gone, &self.effects_back), now).await?;
        Ok(())
    }
}

/// Queues new runs. A requested run has the caller and the trace of its request, which it carries out.
async fn insert(
    c: &mut dyn Connection,
    new: Vec<Value>,
    carried_out: &[RunId],
    now: i64,
) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let queued = sql(
        "queue runs",
        "-- enqueue: new runs
        INSERT INTO runs (id, task_name, incarnation, input_hash, kind, no_retry, requested, status,
                          due_at, created_at, updated_at, settings, requested_by, trace, cause)
        SELECT n.id, t.name, t.incarnation, n.input, n.kind, n.requested, n.requested, 'queued',
               CASE WHEN n.requested THEN n.due ELSE coalesce((
                   SELECT {greatest}(n.due, max(a.planned_at) + $3) FROM approvals a
                   WHERE a.task_name = t.name AND a.incarnation = t.incarnation
                     AND n.kind = 'apply' AND a.decision IS NULL AND a.used_by IS NULL
                   HAVING max(a.planned_at) IS NOT NULL), n.due) END,
               $2, $2, n.settings,
               CASE WHEN n.requested THEN
                   (SELECT q.requested_by FROM run_requests q WHERE q.run_id = n.id) END,
               CASE WHEN n.requested THEN
                   (SELECT q.trace FROM run_requests q WHERE q.run_id = n.id) ELSE n.trace END,
               n.cause
        FROM {rows $1 n: id UUID, task TEXT, input TEXT, kind TEXT, requested BOOLEAN, due BIGINT, \
              settings BIGINT, trace TEXT, cause TEXT}
        JOIN tasks t ON t.name = n.task",
    );
    let queued = queued.bind(Value::from(new).to_string()).bind(now);
    queued.bind(PLANS_EVERY).execute(c).await?;
    if !carried_out.is_empty() {
        let removed = sql(
            "carry out requests",
            "-- enqueue: what was requested\nDELETE FROM run_requests WHERE run_id {in $1}",
        );
        removed.bind(carried_out).execute(c).await?;
    }
    Ok(())
}

/// Gives queued runs newer inputs and all their attempts, due at once and at the same position in the queue. While an
/// effect of the task waits for a decision, plans have a distance. Errors of
/// earlier attempts stay, so that the event at the end includes them.
async fn replace(c: &mut dyn Connection, replaced: Vec<Value>, now: i64) -> Result<(), StoreError> {
    if replaced.is_empty() {
        return Ok(());
    }
    let queued = sql(
        "replace the inputs of queued runs",
        "-- enqueue: replace; index runs_pkey
        UPDATE runs
        SET input_hash = n.input, settings = n.settings, trace = n.trace, cause = n.cause,
            no_retry = FALSE, attempts = 0, braked = FALSE, awaits = NULL,
            due_at = coalesce((
                SELECT {greatest}($2, max(a.planned_at) + $3) FROM approvals a
                WHERE a.task_name = runs.task_name AND a.incarnation = runs.incarnation
                  AND a.decision IS NULL AND a.used_by IS NULL
                HAVING max(a.planned_at) IS NOT NULL), CASE WHEN due_at < $2 THEN due_at ELSE $2 END),
            updated_at = $2,
            cancel_requested_at = NULL, cancel_force = FALSE, withdrawn = FALSE
        FROM {rows $1 n: id UUID, input TEXT, settings BIGINT, trace TEXT, cause TEXT}
        WHERE runs.id = n.id AND runs.status IS NOT DISTINCT FROM 'queued'",
    );
    let queued = queued.bind(Value::from(replaced).to_string()).bind(now);
    queued.bind(PLANS_EVERY).execute(c).await?;
    Ok(())
}
