//! Spans that are held until their trace is wanted.

use std::collections::VecDeque;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::TraceId;

use crate::traces::Span;

/// Holds the newest spans for some time (docs/telemetry.md#sampling).
#[derive(Debug)]
pub struct HeldSpans {
    most: usize,
    life: TimeDelta,
    /// The oldest first, with the time of its arrival.
    spans: VecDeque<(DateTime<Utc>, Span)>,
}

impl HeldSpans {
    /// Holds at most so many spans, each for no longer than `life`.
    pub const fn new(most: usize, life: TimeDelta) -> Self {
        Self {
            most,
            life,
            spans: VecDeque::new(),
        }
    }

    /// Holds a span, in the place of the oldest one if there are too many.
    pub fn hold(&mut self, span: Span, now: DateTime<Utc>) {
        self.forget_old(now);
        if self.spans.len() >= self.most {
            self.spans.pop_front();
        }
        if self.most > 0 {
            self.spans.push_back((now, span));
        }
    }

    /// Takes all spans of this trace.
    pub fn take(&mut self, trace: TraceId, now: DateTime<Utc>) -> Vec<Span> {
        self.forget_old(now);
        let (taken, kept) = std::mem::take(&mut self.spans)
            .into_iter()
            .partition::<VecDeque<_>, _>(|(_at, span)| span.context.trace == trace);
        self.spans = kept;
        taken.into_iter().map(|(_at, span)| span).collect()
    }

    fn forget_old(&mut self, now: DateTime<Utc>) {
        while let Some((at, _span)) = self.spans.front()
            && now - *at > self.life
        {
            self.spans.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use cts_core::{SpanId, TraceContext};

    use super::*;

    fn span(trace: u128, number: u64) -> Span {
        let context = TraceContext {
            trace: TraceId::new(trace).unwrap(),
            span: SpanId::new(number).unwrap(),
        };
        Span::new("test", context, None, (at(0), at(0)))
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn taken(held: &mut HeldSpans, trace: u128, now: i64) -> Vec<u64> {
        let taken = held.take(TraceId::new(trace).unwrap(), at(now));
        let numbers = taken.iter().map(|span| span.context.span.get());
        numbers.collect()
    }

    #[test]
    fn spans_of_a_trace_are_taken_once() {
        let mut held = HeldSpans::new(8, TimeDelta::seconds(10));
        for (trace, number) in [(1, 1), (2, 2), (1, 3)] {
            held.hold(span(trace, number), at(0));
        }
        assert_eq!(taken(&mut held, 1, 1), [1, 3]);
        assert_eq!(taken(&mut held, 1, 1), Vec::<u64>::new());
        assert_eq!(taken(&mut held, 2, 1), [2]);
    }

    #[test]
    fn the_newest_spans_are_held_and_only_for_their_time() {
        let mut held = HeldSpans::new(2, TimeDelta::seconds(10));
        for number in 1..=3 {
            held.hold(span(1, number), at(number.cast_signed()));
        }
        assert_eq!(taken(&mut held, 1, 12), [2, 3]);
        held.hold(span(1, 4), at(20));
        assert_eq!(taken(&mut held, 1, 31), Vec::<u64>::new());
    }
}
