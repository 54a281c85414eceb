//! Spans of one attempt, kept until the scheduler answers whether their trace is kept (docs/telemetry.md#spans).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::TraceContext;
use cts_telemetry::{Span, Traces};
use cts_terraform::{OutputLine, OutputSink, Step};
use opentelemetry::KeyValue;
use parking_lot::Mutex;

/// Most spans that are kept of one attempt.
const MOST: usize = 256;

/// Collects the spans of one attempt.
#[derive(Debug)]
pub(crate) struct AttemptSpans {
    traces: Traces,
    begun: Option<Begun>,
    parts: Mutex<Vec<Span>>,
}

/// The span of the attempt itself.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The span of the lease, which a scheduler makes.
    lease: TraceContext,
    attempt: TraceContext,
    at: DateTime<Utc>,
}

/// Facts about an attempt that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedAttempt<'a> {
    pub(crate) run: &'a str,
    pub(crate) task: &'a str,
    pub(crate) number: u32,
    /// Name of the outcome.
    pub(crate) outcome: &'static str,
    pub(crate) failed: bool,
}

impl AttemptSpans {
    /// Begins the attempt under the span of its lease; without a span nothing is collected.
    pub(crate) fn begin(traces: &Traces, lease: Option<TraceContext>) -> Self {
        let begin = |lease: TraceContext| {
            Some(Begun {
                lease,
                attempt: traces.begin(Some(lease.trace))?,
                at: traces.now()?,
            })
        };
        Self {
            begun: lease.and_then(begin),
            traces: traces.clone(),
            parts: Mutex::default(),
        }
    }

    /// Log lines inside of this carry the id of the trace.
    pub(crate) fn log_span(&self) -> tracing::Span {
        let begun = self.begun.as_ref();
        begun.map_or_else(tracing::Span::none, |begun| {
            self.traces.log_span(begun.attempt.trace)
        })
    }

    /// The span of the attempt.
    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.begun.map(|begun| begun.attempt)
    }

    /// A part of the attempt ends now, after `took`.
    pub(crate) fn ended(&self, name: &'static str, took: Duration) {
        let Some((begun, now)) = self.begun.zip(self.traces.now()) else {
            return;
        };
        let Some(context) = self.traces.begin(Some(begun.attempt.trace)) else {
            return;
        };
        let took = TimeDelta::from_std(took).unwrap_or_default();
        let times = (now - took, now);
        let mut parts = self.parts.lock();
        if parts.len() < MOST {
            parts.push(Span::new(name, context, Some(begun.attempt.span), times));
        }
    }

    /// The output of Terraform on its way to `sink`: each of its commands is a part of the attempt.
    pub(crate) fn of_commands(self: &Arc<Self>, sink: Arc<dyn OutputSink>) -> Arc<dyn OutputSink> {
        if self.begun.is_none() {
            return sink;
        }
        Arc::new(CommandSpans {
            spans: Arc::clone(self),
            sink,
        })
    }

    /// Exports the spans if the scheduler keeps their trace. If the scheduler does not decide, the sampling rate and
    /// the failure of the attempt do.
    pub(crate) fn export(&self, keep: Option<bool>, ended: EndedAttempt<'_>) {
        let Some((begun, now)) = self.begun.zip(self.traces.now()) else {
            return;
        };
        let own_decision = || ended.failed || self.traces.keeps(begun.attempt.trace);
        if !keep.unwrap_or_else(own_decision) {
            return;
        }
        let mut span = Span::new(
            "attempt",
            begun.attempt,
            Some(begun.lease.span),
            (begun.at, now),
        );
        span.failed = ended.failed;
        span.attributes = vec![
            KeyValue::new("cts.run.id", ended.run.to_owned()),
            KeyValue::new("cts.task.name", ended.task.to_owned()),
            KeyValue::new("cts.attempt", i64::from(ended.number)),
            KeyValue::new("cts.outcome", ended.outcome),
        ];
        self.traces.export(span);
        for part in std::mem::take(&mut *self.parts.lock()) {
            self.traces.export(part);
        }
    }
}

/// Passes output on, and makes a span of each command of Terraform.
struct CommandSpans {
    spans: Arc<AttemptSpans>,
    sink: Arc<dyn OutputSink>,
}

impl fmt::Debug for CommandSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSpans").finish_non_exhaustive()
    }
}

impl OutputSink for CommandSpans {
    fn line(&self, line: OutputLine) {
        self.sink.line(line);
    }

    fn event(&self, line: &str) {
        self.sink.event(line);
    }

    fn step_began(&self, step: Step) {
        self.sink.step_began(step);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.spans.ended(name(step), took);
        self.sink.step_ended(step, took);
    }
}

/// The name of the span of a command.
const fn name(step: Step) -> &'static str {
    match step {
        Step::Init => "init",
        Step::Validate => "validate",
        Step::Plan => "plan",
        Step::Show => "show",
        Step::Apply => "apply",
        Step::Unlock => "force-unlock",
        Step::Schemas => "providers schema",
        Step::Output => "output",
        Step::Workspaces => "workspace list",
        Step::PullState => "state pull",
        Step::PushState => "state push",
    }
}
