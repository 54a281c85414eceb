//! Spans of observed changes (docs/telemetry.md#spans).

use std::sync::Arc;

use chrono::TimeDelta;
use cts_core::{TraceContext, TraceId, ViewId};
use cts_telemetry::{HeldSpans, Span, Traces};
use opentelemetry::KeyValue;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Spans that are held for a trace whose run may still fail.
const HELD: usize = 1024;

/// How long they are held.
const HELD_FOR: TimeDelta = TimeDelta::minutes(15);

/// Makes a span of each change of a view. The sampling rate exports it at once, or a scheduler wants it later. Cheap to
/// clone; clones share the held spans.
#[derive(Debug, Clone)]
pub(crate) struct ChangeTraces {
    traces: Traces,
    held: Arc<Mutex<HeldSpans>>,
}

impl ChangeTraces {
    pub(crate) fn new(traces: Traces) -> Self {
        Self {
            traces,
            held: Arc::new(Mutex::new(HeldSpans::new(HELD, HELD_FOR))),
        }
    }

    /// Makes no spans.
    pub(crate) fn off() -> Self {
        Self::new(Traces::off())
    }

    /// Consul's answer at `answered` has changed the view, which now has `items` items.
    pub(crate) fn changed(
        &self,
        view: &ViewId,
        items: usize,
        answered: Option<Instant>,
    ) -> Option<TraceContext> {
        let context = self.traces.begin(None)?;
        let ended = self.traces.now()?;
        let took = answered.map(|answered| answered.elapsed());
        let took = took.and_then(|took| TimeDelta::from_std(took).ok());
        let started = ended - took.unwrap_or_default();
        let mut span = Span::new("change", context, None, (started, ended));
        span.attributes = vec![
            KeyValue::new("cts.view.id", view.as_str().to_owned()),
            KeyValue::new("cts.view.items", i64::try_from(items).unwrap_or(i64::MAX)),
        ];
        if self.traces.keeps(context.trace) {
            self.traces.export(span);
        } else {
            self.held.lock().hold(span, ended);
        }
        Some(context)
    }

    /// Exports the held spans of a trace.
    pub(crate) fn keep(&self, trace: TraceId) {
        let Some(now) = self.traces.now() else {
            return;
        };
        let spans = self.held.lock().take(trace, now);
        for span in spans {
            self.traces.export(span);
        }
    }
}
