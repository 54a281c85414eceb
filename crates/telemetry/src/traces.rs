//! Spans, made by hand when their ends are known (docs/telemetry.md#traces).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{Clock, SpanId, TraceContext, TraceId};
use opentelemetry::trace::{Link, SpanContext, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator as _, RandomIdGenerator, SpanData,
    SpanEvents, SpanLinks, SpanProcessor,
};

use crate::collector_log::Logged;
use crate::scope::SCOPE;

/// Spans that wait for their export; further ones are dropped.
const QUEUED: usize = 8192;

/// Spans of one export.
const AT_ONCE: usize = 512;

/// Longest time that a span waits for others.
const DELAY: Duration = Duration::from_secs(2);

/// Bits of a trace id by which it is kept: those that W3C Trace Context calls random.
const RANDOM_BITS: u32 = 56;

/// Exports the spans of one process. Cheap to clone.
///
/// [`Traces::off`] makes no ids and exports nothing.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<Arc<Exporting>>);

struct Exporting {
    processor: Box<dyn SpanProcessor>,
    scope: InstrumentationScope,
    clock: Arc<dyn Clock>,
    kept: SamplingRate,
}

/// Percentage of the traces of successful runs that is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRate(u32);

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Name; one of few.
    pub name: &'static str,
    /// Relation to the caller of the spanned operation.
    pub kind: SpanKind,
    /// Its ids.
    pub context: TraceContext,
    /// The span that it is a part of.
    pub parent: Option<SpanId>,
    /// When it began.
    pub started: DateTime<Utc>,
    /// When it ended.
    pub ended: DateTime<Utc>,
    /// Further facts, without secrets.
    pub attributes: Vec<KeyValue>,
    /// Spans of other traces that led to it.
    pub links: Vec<TraceContext>,
    /// Whether the operation has failed. The error is in the log, with the id of the trace.
    pub failed: bool,
}

impl SamplingRate {
    /// So many percent; more than 100 is all.
    pub const fn percent(percent: u32) -> Self {
        Self(percent)
    }

    /// Whether a trace is kept. All processes decide the same, and a larger rate keeps everything that a smaller one
    /// keeps.
    pub fn keeps(self, trace: TraceId) -> bool {
        let random = trace.get() & ((1 << RANDOM_BITS) - 1);
        random * 100 < u128::from(self.0) << RANDOM_BITS
    }
}

impl Span {
    /// A span inside of its process, without attributes and links, that has not failed.
    pub fn new(
        name: &'static str,
        context: TraceContext,
        parent: Option<SpanId>,
        (started, ended): (DateTime<Utc>, DateTime<Utc>),
    ) -> Self {
        Self {
            name,
            kind: SpanKind::Internal,
            context,
            parent,
            started,
            ended: ended.max(started),
            attributes: Vec::new(),
            links: Vec::new(),
            failed: false,
        }
    }
}

impl Traces {
    /// Exports nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Exports by `exporter`.
    pub(crate) fn exporting(
        exporter: Logged<SpanExporter>,
        resource: &Resource,
        kept: SamplingRate,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUED)
            .with_max_export_batch_size(AT_ONCE)
            .with_scheduled_delay(DELAY)
            .build();
        let mut processor = BatchSpanProcessor::new(exporter, batches);
        processor.set_resource(resource);
        Self::processed(Box::new(processor), kept, clock)
    }

    fn processed(
        processor: Box<dyn SpanProcessor>,
        kept: SamplingRate,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self(Some(Arc::new(Exporting {
            processor,
            scope: InstrumentationScope::builder(SCOPE).build(),
            clock,
            kept,
        })))
    }

    /// Whether spans are exported. Otherwise none need be made.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the sampling rate keeps this trace. Traces of failed runs are kept in any case.
    pub fn keeps(&self, trace: TraceId) -> bool {
        let exporting = self.0.as_ref();
        exporting.is_some_and(|exporting| exporting.kept.keeps(trace))
    }

    /// The present moment; `None` while spans are not exported.
    pub fn now(&self) -> Option<DateTime<Utc>> {
        Some(self.0.as_ref()?.clock.now())
    }

    /// A new span in this trace, or in a new one; `None` while spans are not exported.
    pub fn begin(&self, trace: Option<TraceId>) -> Option<TraceContext> {
        self.0.as_ref()?;
        let trace = match trace {
            Some(trace) => trace,
            None => TraceId::new(u128::from_be_bytes(
                RandomIdGenerator::default().new_trace_id().to_bytes(),
            ))?,
        };
        let span = RandomIdGenerator::default().new_span_id();
        let span = SpanId::new(u64::from_be_bytes(span.to_bytes()))?;
        Some(TraceContext { trace, span })
    }

    /// Log lines inside of this carry the id of the trace in JSON (docs/cli.md#log). Nothing without tracing.
    pub fn log_span(&self, trace: TraceId) -> tracing::Span {
        if self.is_on() {
            tracing::error_span!("trace", trace.id = %trace)
        } else {
            tracing::Span::none()
        }
    }

    /// Exports a span, soon.
    pub fn export(&self, span: Span) {
        if let Some(exporting) = &self.0 {
            exporting.processor.on_end(exporting.data(span));
        }
    }

    /// Exports the spans that wait, and ends, within `limit`. Blocks the thread.
    pub(crate) fn end(&self, limit: Duration) {
        if let Some(exporting) = &self.0
            && let Err(error) = exporting.processor.shutdown_with_timeout(limit)
        {
            tracing::debug!(%error, "the last spans are not exported");
        }
    }
}

impl Exporting {
    fn data(&self, span: Span) -> SpanData {
        let mut links = SpanLinks::default();
        links.links = span
            .links
            .into_iter()
            .map(|link| Link::with_context(span_context(link)))
            .collect();
        SpanData {
            span_context: span_context(span.context),
            parent_span_id: span.parent.map_or(opentelemetry::SpanId::INVALID, span_id),
            parent_span_is_remote: false,
            span_kind: span.kind,
            name: span.name.into(),
            start_time: span.started.into(),
            end_time: span.ended.into(),
            attributes: span.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: if span.failed {
                Status::error("")
            } else {
                Status::Unset
            },
            instrumentation_scope: self.scope.clone(),
        }
    }
}

impl fmt::Debug for Exporting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporting")
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

fn span_context(context: TraceContext) -> SpanContext {
    SpanContext::new(
        opentelemetry::TraceId::from(context.trace.get()),
        span_id(context.span),
        TraceFlags::SAMPLED,
        false,
        TraceState::NONE,
    )
}

fn span_id(span: SpanId) -> opentelemetry::SpanId {
    opentelemetry::SpanId::from(span.get())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keeps(percent: u32, number: u128) -> bool {
        SamplingRate::percent(percent).keeps(TraceId::new(number).unwrap())
    }

    proptest! {
        #[test]
        fn keeps_all_traces_at_100_and_none_at_0(number in 1_u128..) {
            prop_assert!(keeps(100, number));
            prop_assert!(!keeps(0, number));
        }

        #[test]
        fn a_larger_rate_keeps_what_a_smaller_one_keeps(number in 1_u128.., rate in 0_u32..100) {
            prop_assert!(!keeps(rate, number) || keeps(rate + 1, number));
        }

        #[test]
        fn only_the_random_part_of_a_trace_id_decides(number in 1_u128.., rate in 0_u32..=100) {
            let random = number & ((1 << RANDOM_BITS) - 1);
            let other = random | 1 << 127;
            prop_assert_eq!(keeps(rate, number), keeps(rate, other));
        }
    }

    #[test]
    fn the_kept_share_is_the_rate() {
        let traces = (0..10_000_u128).map(|number| ((number << RANDOM_BITS) / 10_000) | (1 << 100));
        let kept = traces.filter(|number| keeps(25, *number)).count();
        assert!(kept.abs_diff(2_500) <= 1, "{kept}");
    }

    #[test]
    fn nothing_is_made_while_spans_are_not_exported() {
        let traces = Traces::off();
        assert!(!traces.is_on());
        assert_eq!(traces.begin(None), None);
        assert_eq!(traces.now(), None);
        assert!(!traces.keeps(TraceId::new(1).unwrap()));
    }
}
