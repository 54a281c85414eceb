//! Writes for many requests, in a few statements.

use std::collections::BTreeMap;

use cts_core::{Digest, EventId, FrozenInput, InstanceCounts, RunId, TaskName};
use cts_store::enqueue::{EnqueueError, EnqueuePlan, GuardChange, stored_cause, stored_trace};
use cts_store::{EncodedContents, EnqueueRequest, FailedStart, Refused, StoreError};
use cts_store_sql::settings::stored;
use cts_store_sql::{checks, failed_starts, requests, tick_events};
use sqlx::PgTransaction;
use uuid::Uuid;

use crate::call::shared;
use crate::guards;
use crate::inputs;
use crate::row::failed_to;

/// The changes of one wave: each task occurs at most once.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    /// Sorted by hash, so that two transactions that store the same inputs do not deadlock.
    inputs: BTreeMap<Digest, &'a FrozenInput>,
    new_runs: Vec<Uuid>,
    new_tasks: Vec<&'a str>,
    new_kinds: Vec<&'static str>,
    new_requested: Vec<bool>,
    new_inputs: Vec<String>,
    /// Due times of the replaced runs.
    new_places: Vec<Option<i64>>,
    new_settings: Vec<Option<i64>>,
    new_traces: Vec<Option<String>>,
    new_causes: Vec<Option<String>>,
    replaced_tasks: Vec<&'a str>,
    replaced_inputs: Vec<String>,
    replaced_settings: Vec<Option<i64>>,
    replaced_traces: Vec<Option<String>>,
    replaced_causes: Vec<Option<String>>,
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
}

impl<'a> Changes<'a> {
    pub(super) fn add(
        &mut self,
        request: &'a EnqueueRequest,
        plan: &EnqueuePlan,
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
        if plan.inserts.is_some() || plan.replaces {
            self.inputs.insert(request.input.hash, &request.input);
            let guarded = request.guarded.as_ref();
            self.guarded
                .extend(guarded.map(|guarded| (request.input.hash, &guarded.counts)));
        }
        if plan.replaces {
            self.replaced_tasks.push(task);
            self.replaced_inputs.push(request.input.hash.to_string());
            self.replaced_settings
                .push(request.input.settings.map(stored));
            self.replaced_traces
                .push(stored_trace(plan.trace.as_ref())?);
            self.replaced_causes
                .push(stored_cause(plan.cause.as_ref())?);
        }
        if let Some(new) = plan.inserts {
            self.new_runs.push(request.run.as_uuid());
            self.new_tasks.push(task);
            self.new_kinds.push(request.kind.as_str());
            self.new_requested.push(new.requested);
            self.new_inputs.push(request.input.hash.to_string());
            self.new_places.push(new.place);
            self.new_settings.push(request.input.settings.map(stored));
            self.new_traces.push(stored_trace(plan.trace.as_ref())?);
            self.new_causes.push(stored_cause(plan.cause.as_ref())?);
        }
        Ok(())
    }

    pub(super) async fn write(
        self,
        transaction: &mut PgTransaction<'_>,
        encoded: &EncodedContents,
        now: i64,
    ) -> Result<(), EnqueueError> {
        inputs::store(transaction, &self.inputs, encoded, now).await?;
        guards::note_instances(transaction, &self.guarded).await?;
        guards::write(transaction, &self.guards).await?;
        if !self.cancelled_tasks.is_empty() {
            sqlx::query(
                "-- enqueue: cancel; index runs_one_queued
                UPDATE runs SET status = 'cancelled', finished_at = $2, updated_at = $2
                WHERE task_name = ANY ($1) AND status = 'queued' AND kind = 'apply'",
            )
            .bind(self.cancelled_tasks)
            .bind(now)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("cancel queued runs"))?;
        }
        if !self.new_runs.is_empty() {
            sqlx::query(
                "-- enqueue: new runs
                WITH carried_out AS (
                    DELETE FROM run_requests a
                    USING unnest($1::UUID[], $5::BOOLEAN[]) AS n (id, requested)
                    WHERE a.run_id = n.id AND n.requested
                )
                INSERT INTO runs (id, task_name, incarnation, input_hash, kind, no_retry, requested,
                                  status, due_at, created_at, updated_at, settings, requested_by,
                                  trace, cause)
                SELECT n.id, n.task, t.incarnation, n.input, n.kind, n.requested, n.requested, 'queued',
                       least(n.place, $6), $6, $6, n.settings,
                       CASE WHEN n.requested THEN
                           (SELECT q.requested_by FROM run_requests q WHERE q.run_id = n.id) END,
                       CASE WHEN n.requested THEN
                           (SELECT q.trace FROM run_requests q WHERE q.run_id = n.id) ELSE n.trace END,
                       n.cause
                FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::BOOLEAN[],
                            $7::BIGINT[], $8::BIGINT[], $9::TEXT[], $10::TEXT[])
                    AS n (id, task, input, kind, requested, place, settings, trace, cause)
                JOIN tasks t ON t.name = n.task",
            )
            .bind(self.new_runs)
            .bind(self.new_tasks)
            .bind(self.new_inputs)
            .bind(self.new_kinds)
            .bind(self.new_requested)
            .bind(now)
            .bind(self.new_places)
            .bind(self.new_settings)
            .bind(self.new_traces)
            .bind(self.new_causes)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("queue runs"))?;
        }
        if !self.replaced_tasks.is_empty() {
            // The queued run gets the newer input and all its attempts, due at once and at the same position in the
            // queue. Errors of earlier attempts stay, so that the event at its end includes them.
            sqlx::query(
                "-- enqueue: replace; index runs_one_queued
                WITH n AS MATERIALIZED (
                    SELECT queued.id, n.input, n.settings, n.trace, n.cause
                    FROM unnest($1::TEXT[], $2::TEXT[], $4::BIGINT[], $5::TEXT[], $6::TEXT[])
                        AS n (task, input, settings, trace, cause)
                    CROSS JOIN LATERAL (
                        SELECT id FROM runs
                        WHERE task_name = n.task AND status = 'queued' AND kind = 'apply'
                        LIMIT 1) queued
                )
                UPDATE runs r
                SET input_hash = n.input, settings = n.settings, trace = n.trace, cause = n.cause,
                    no_retry = FALSE, attempts = 0,
                    due_at = least(r.due_at, $3), updated_at = $3,
                    cancel_requested_at = NULL, cancel_force = FALSE, withdrawn = FALSE
                FROM n WHERE r.id = n.id AND r.status IS NOT DISTINCT FROM 'queued'",
            )
            .bind(self.replaced_tasks)
            .bind(self.replaced_inputs)
            .bind(now)
            .bind(self.replaced_settings)
            .bind(self.replaced_traces)
            .bind(self.replaced_causes)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("replace the inputs of queued runs"))?;
        }
        if !self.begun_anew.is_empty() {
            sqlx::query(
                "-- enqueue: a newer input has not failed yet
                UPDATE tasks SET failures = 0 WHERE name = ANY ($1)",
            )
            .bind(self.begun_anew)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("forget failures"))?;
        }
        if !self.not_tried.is_empty() {
            sqlx::query(
                "-- enqueue: not tried yet
                UPDATE tasks SET tried_input = NULL WHERE name = ANY ($1)",
            )
            .bind(self.not_tried)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("forget attempts"))?;
        }
        if !self.not_withheld.is_empty() {
            sqlx::query(
                "-- enqueue: not withheld
                UPDATE tasks SET cancelled_input = NULL WHERE name = ANY ($1)",
            )
            .bind(self.not_withheld)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("forget what was cancelled"))?;
        }
        if !self.skipped_tasks.is_empty() {
            sqlx::query(
                "-- enqueue: count skips
                UPDATE tasks SET skipped = skipped + 1 WHERE name = ANY ($1)",
            )
            .bind(self.skipped_tasks)
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("count skipped inputs"))?;
        }
        for (task, key, run) in self.checks {
            checks::begin(&mut shared(transaction), task, key, run).await?;
        }
        for (request, run, failed) in self.failed {
            failed_starts::end(&mut shared(transaction), request, run, failed).await?;
        }
        for (run, why) in &self.refused {
            requests::refuse_locked(&mut shared(transaction), *run, why).await?;
        }
        tick_events::store(&mut shared(transaction), &self.ticks).await?;
        Ok(())
    }
}
