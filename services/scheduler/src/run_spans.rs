//! The spans of a run that the schedulers make: at the end of each attempt and of the run, from the stored times
//! (docs/telemetry.md#spans).

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::runs::RunStatus;
use cts_core::{Chain, LeaseEpoch, RunId, RunTrace, TraceContext, WorkerId};
use cts_proto::watch::v1::KeepTracesRequest;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{CallFailure, Peers};
use cts_store::{RunRecord, Store};
use cts_telemetry::{Span, Traces};
use opentelemetry::KeyValue;
use tokio::time::timeout;

/// Time for the watchers to hear that a trace is kept.
const KEEP_LIMIT: Duration = Duration::from_millis(500);

/// Makes and exports the spans of runs. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RunSpans {
    pub(crate) traces: Traces,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
}

#[derive(Debug)]
pub(crate) struct EndedLease<'a> {
    /// `None` if the lease was taken back.
    pub(crate) lease: Option<(LeaseEpoch, &'a WorkerId)>,
    /// Time since the lock was acquired, if known.
    pub(crate) held_for: Option<Duration>,
    /// Name of the outcome.
    pub(crate) outcome: &'static str,
    /// Whether the attempt has failed.
    pub(crate) failed: bool,
}

impl RunSpans {
    /// The run with its trace; `None` without tracing.
    pub(crate) async fn of_run(&self, run: RunId) -> Option<RunRecord> {
        if !self.traces.is_on() {
            return None;
        }
        match self.store.run(run).await {
            Ok(record) => record,
            Err(error) => {
                tracing::debug!(run.id = %run, error = %Chain(&error), "the spans of a run are lost");
                None
            }
        }
    }

    /// Log lines inside of this carry the id of the trace of a run.
    pub(crate) fn log_span(&self, run: RunId, trace: Option<&RunTrace>) -> tracing::Span {
        self.traces.log_span(TraceContext::of_run(run, trace).trace)
    }

    /// Exports the spans that end with this lease, if the trace is kept. Returns whether it is.
    pub(crate) async fn lease_ended(&self, record: &RunRecord, ended: EndedLease<'_>) -> bool {
        let Some(now) = self.traces.now() else {
            return false;
        };
        let context = TraceContext::of_run(record.id, record.trace.as_ref());
        let is_sampled = self.traces.keeps(context.trace);
        if !is_sampled && !ended.failed && record.errors.is_empty() {
            return false;
        }
        self.traces
            .export(self.lease_span(record, context, &ended, now));
        if record.status.is_end() {
            for span in spans_of_run(record, context, now) {
                self.traces.export(span);
            }
        }
        if !is_sampled {
            self.keep_changes(record).await;
        }
        true
    }

    fn lease_span(
        &self,
        record: &RunRecord,
        context: TraceContext,
        ended: &EndedLease<'_>,
        now: DateTime<Utc>,
    ) -> Span {
        let own = || self.traces.begin(Some(context.trace));
        let lease = match ended.lease {
            Some((epoch, _holder)) => context.of_lease(epoch),
            // The worker no longer reports the attempt.
            None => own().unwrap_or(context),
        };
        let held_for = ended
            .held_for
            .and_then(|held| TimeDelta::from_std(held).ok());
        let started = match held_for {
            Some(held) => now.checked_sub_signed(held),
            None => record.started_at,
        };
        let mut span = Span::new(
            "lease",
            lease,
            Some(context.span),
            (started.unwrap_or(now), now),
        );
        span.failed = ended.failed;
        span.attributes = attributes(record);
        span.attributes
            .push(KeyValue::new("cts.outcome", ended.outcome));
        if let Some((_epoch, holder)) = ended.lease {
            let holder = holder.as_str().to_owned();
            span.attributes.push(KeyValue::new("cts.worker.id", holder));
        }
        span
    }

    /// Lets the watchers export the changes that led to the run, which they hold for some time.
    async fn keep_changes(&self, record: &RunRecord) {
        let Some(trace) = &record.trace else {
            return;
        };
        let changes = trace.parent.iter().chain(&trace.links);
        let request = KeepTracesRequest {
            traceparents: changes.map(ToString::to_string).collect(),
        };
        let watchers = Arc::clone(&self.watchers.healthy().borrow());
        let calls = watchers.iter().map(|watcher| {
            let mut client = WatchServiceClient::new(watcher.channel());
            let request = request.clone();
            async move { timeout(KEEP_LIMIT, client.keep_traces(request)).await }
        });
        for answer in futures::future::join_all(calls).await {
            match answer {
                Ok(Ok(_kept)) => {}
                Ok(Err(status)) => {
                    tracing::debug!(error = %CallFailure(&status), "a watcher does not keep a trace");
                }
                Err(_elapsed) => tracing::debug!("a watcher does not keep a trace in time"),
            }
        }
    }
}

/// The spans of a run that has ended, without its leases.
fn spans_of_run(record: &RunRecord, context: TraceContext, now: DateTime<Utc>) -> Vec<Span> {
    let trace = record.trace.as_ref();
    let triggered = trace.and_then(|trace| trace.triggered_at);
    let triggered = triggered
        .unwrap_or(record.created_at)
        .min(record.created_at);
    let ended = record.finished_at.unwrap_or(now);
    let parent = trace.and_then(|trace| trace.parent);
    let mut run = Span::new(
        "run",
        context,
        parent.map(|parent| parent.span),
        (triggered, ended),
    );
    run.failed = record.status == RunStatus::Failed;
    run.attributes = attributes(record);
    run.attributes.extend([
        KeyValue::new("cts.outcome", record.status.as_str()),
        KeyValue::new("cts.attempts", i64::from(record.attempts)),
    ]);
    run.links = trace.map(|trace| trace.links.clone()).unwrap_or_default();
    let mut spans = vec![run];
    // Ids of their own, which every replica that repeats this computes the same.
    let part = |number| context.of_lease(LeaseEpoch::new(u64::MAX - number));
    if triggered < record.created_at {
        let times = (triggered, record.created_at);
        spans.push(Span::new("buffer", part(0), Some(context.span), times));
    }
    if let Some(started) = record.started_at {
        let times = (record.created_at, started);
        spans.push(Span::new("queue", part(1), Some(context.span), times));
    }
    spans
}

/// Facts about a run that its spans share.
fn attributes(record: &RunRecord) -> Vec<KeyValue> {
    vec![
        KeyValue::new("cts.run.id", record.id.to_string()),
        KeyValue::new("cts.task.name", record.task.to_string()),
        KeyValue::new("cts.run.kind", record.kind.as_str()),
    ]
}
